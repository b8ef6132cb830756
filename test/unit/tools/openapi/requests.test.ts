import { createServer, type IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeSource } from '../../../../src/daemon/tools/describe-source.ts';
import { readOpenApiTools } from '../../../../src/daemon/tools/openapi/openapi-source.ts';
import type { OpenApiEntry, ToolEntry } from '../../../../src/daemon/tools/source-entry.ts';
import type { Tool } from '../../../../src/daemon/tools/tool.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';
import { documentOf, entryOf, problemsOf } from '../../../support/openapi.ts';
import { signedIn, token } from '../../../support/people-of-api.ts';
import { accessTo, bindOne } from '../../../support/tools.ts';

const OK = { responses: { default: { description: '' } } };
const text = { type: 'string' };
const path = (name: string, rest: object = {}) => ({
  name,
  in: 'path',
  required: true,
  schema: text,
  ...rest,
});
const query = (name: string, schema: object = text, rest: object = {}) => ({
  name,
  in: 'query',
  schema,
  ...rest,
});
const header = (name: string, schema: object = text) => ({ name, in: 'header', schema });

interface Received {
  method: string;
  /** The path and the query, as received. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

let received: Received[] = [];
let status = 200;
let answer = '{"done":true}';
/** More headers of the answer. */
let more: Record<string, string> = {};
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method = '', url = '', headers } = request;
    received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(status, { 'content-type': 'application/json', ...more }).end(answer);
  });
});
let base = '';

beforeAll(async () => {
  base = `http://127.0.0.1:${await listenOnFreePort(server)}/v1`;
});
afterAll(() => new Promise((resolve) => server.close(() => resolve(null))));
beforeEach(() => {
  received = [];
  status = 200;
  answer = '{"done":true}';
  more = {};
});

/** The tool of one operation at the path `at`. The server in this file gets the requests of the tool. */
async function toolAt(
  at: string,
  operation: object,
  told: ToolEntry = {},
  method = 'get',
  rest: Partial<OpenApiEntry> = {},
): Promise<Tool> {
  const document = documentOf({ [at]: { [method]: { operationId: 'a', ...operation, ...OK } } });
  const entry = entryOf(
    document,
    { a: { confirm: 'never', credentials: 'none', ...told } },
    { base_url: base, ...rest },
  );
  const { tools, problems } = await readOpenApiTools(entry, describeSource(entry, base));
  expect(problems).toEqual([]);
  return tools[0] as Tool;
}

/** Calls the tool as the agent does, with Alice signed in. */
function call(tool: Tool, args: object) {
  return bindOne(tool, { context: signedIn(), access: accessTo(base) }).bound.call(args);
}

/** The request line of the only request. */
function line(): string {
  expect(received).toHaveLength(1);
  return `${received[0]?.method} ${received[0]?.url}`;
}

describe('a request', () => {
  it('has the path, query, headers and body that the document requires', async () => {
    const operation = {
      parameters: [
        path('id'),
        path('parts', { style: 'matrix', explode: true, schema: { type: 'array', items: text } }),
        query('ids', { type: 'array', items: { type: 'integer' } }, { explode: false }),
        query(
          'filter',
          { type: 'object', additionalProperties: true },
          { style: 'deepObject', explode: true },
        ),
        query('tags', { type: 'array', items: text }, { style: 'pipeDelimited', explode: false }),
        query('where', text, { allowReserved: true }),
        { name: 'json', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
        header('X-List', { type: 'array', items: text }),
      ],
      requestBody: { content: { 'application/merge-patch+json': { schema: { type: 'object' } } } },
    };
    const tool = await toolAt('/orders/{id}/x{parts}/', operation, { idempotent: true }, 'patch');
    const args = {
      id: 'a b',
      parts: ['1', '2'],
      ids: [3, 4],
      filter: { state: 'open', 'p&q': 1 },
      tags: ['a|b', 'c'],
      where: '/x?y',
      json: { n: [1] },
      'X-List': ['u', 'v'],
      body: { note: 'ä' },
    };
    expect(await call(tool, args)).toEqual({ ok: true, result: { done: true } });
    expect(line()).toBe(
      'PATCH /v1/orders/a%20b/x;parts=1;parts=2/?ids=3,4&filter%5Bstate%5D=open&filter%5Bp%26q%5D=1&tags=a%7Cb%7Cc&where=/x?y&json=%7B%22n%22%3A%5B1%5D%7D',
    );
    expect(received[0]).toMatchObject({
      headers: {
        'x-list': 'u,v',
        'content-type': 'application/merge-patch+json',
        accept: 'application/json',
      },
      body: '{"note":"ä"}',
    });
  });

  it('has no argument that the model omits, and no body if the model omits it', async () => {
    const requestBody = { content: { 'application/json': { schema: { type: 'object' } } } };
    const tool = await toolAt(
      '/orders',
      { parameters: [query('q'), header('X-A')], requestBody },
      {},
      'post',
    );
    await call(tool, {});
    expect(line()).toBe('POST /v1/orders');
    expect(received[0]?.body).toBe('');
    expect(received[0]?.headers).not.toHaveProperty('content-type');
    expect(received[0]?.headers).not.toHaveProperty('x-a');
  });

  it.each([
    [{ q: null }, 'The argument `q` cannot be null. Leave that out.'],
    [{ q: [] }, 'The argument `q` cannot be an empty list. Leave that out.'],
    [{ q: [1, null] }, 'The argument `q` cannot contain null. Leave that out.'],
    [{ deep: { a: { b: null } } }, 'The argument `deep` cannot contain null. Leave that out.'],
    [{ deep: { a: {} } }, 'The argument `deep` cannot contain an empty object. Leave that out.'],
    [{ 'X-A': null }, 'The argument `X-A` cannot be null. Leave that out.'],
  ])('is not made if a part of an argument would be left out of it: %j', async (args, message) => {
    const parameters = [
      { name: 'q', in: 'query', schema: { nullable: true } },
      { name: 'deep', in: 'query', style: 'deepObject', schema: { nullable: true } },
      { name: 'X-A', in: 'header', schema: { nullable: true } },
    ];
    const tool = await toolAt('/orders', { parameters });
    expect(await call(tool, args)).toMatchObject({ ok: false, message });
    expect(received).toEqual([]);
  });

  it('has the idempotency key in the header that the entry names, and never a value of the model', async () => {
    const tool = await toolAt(
      '/orders',
      { parameters: [header('Idem-Key')] },
      { idempotency_header: 'Idem-Key' },
      'post',
    );
    expect(tool.parameters.properties).toEqual({});
    let sent: unknown;
    const client = {
      request: async (request: unknown) => {
        sent = request;
        return { outcome: 'sign_in_needed' };
      },
    };
    const answered = await tool.send({}, { client, idempotency_key: 'k-1' } as never);
    expect(sent).toEqual({ method: 'POST', path: '/orders', headers: { 'Idem-Key': 'k-1' } });
    expect(answered).toEqual({ outcome: 'sign_in_needed' });
    await tool.send({}, { client, idempotency_key: null } as never);
    expect(sent).toEqual({ method: 'POST', path: '/orders', headers: {} });
  });

  it('has bound parameters from the claims of the person, and never from the model', async () => {
    const operation = {
      parameters: [query('customer'), query('filter', { type: 'object' })],
      requestBody: {
        content: {
          'application/json': { schema: { type: 'object', properties: { owner: text, note: text } } },
        },
      },
    };
    const told = { bind: { customer: 'sub', 'body.owner': 'email' } };
    const tool = await toolAt('/orders', operation, told, 'post');
    await call(tool, { body: { note: 'x' } });
    expect(line()).toBe('POST /v1/orders?customer=user-1');
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({ note: 'x', owner: 'alice@example.com' });
    for (const args of [
      { customer: 'user-2' },
      ...['owner', 'Owner', 'owner\0', '_owner', 'ｏwner'].map((name) => ({
        body: { [name]: 'bob@example.com' },
      })),
      { filter: { customer: 'user-2' } },
      { filter: { CUSTOMER: 'user-2' } },
      ...['customer[]', 'customer\0', '[customer]', 'customer]', 'customer.id', 'cust\u200bomer'].map(
        (name) => ({
          filter: { [name]: 'user-2' },
        }),
      ),
    ])
      expect(await call(tool, args)).toMatchObject({ ok: false });
    expect(received).toHaveLength(1);
  });
});

describe('a request to a path with a query or a fragment', () => {
  it('has the query, and not the fragment', async () => {
    const tool = await toolAt('/files/{id}?beta=true&a%20b#add_link', {
      parameters: [
        path('id'),
        query('limit'),
        query('where', { type: 'object' }, { style: 'form', explode: true }),
      ],
    });
    await call(tool, { id: '7', limit: '2' });
    expect(line()).toBe('GET /v1/files/7?beta=true&a%20b&limit=2');
    expect(await call(tool, { id: '7', where: { Beta: 'false' } })).toEqual({
      ok: false,
      message: 'The argument `where` cannot contain `Beta`.',
    });
  });

  it('has a parameter that the query of the path only names', async () => {
    const tool = await toolAt('/files?id={id}', { parameters: [query('id')] });
    await call(tool, { id: '7' });
    expect(line()).toBe('GET /v1/files?id=7');
  });
});

describe('a form', () => {
  it('is sent with its type and its length', async () => {
    const bound = await toolAt(
      '/messages',
      {
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', properties: { To: text, From: text } },
            },
          },
        },
      },
      { bind: { 'body.From': 'sub' } },
      'post',
    );
    expect(await call(bound, { body: { To: '+41 &' } })).toEqual({ ok: true, result: { done: true } });
    expect(received[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '26' },
      body: 'To=%2B41%20%26&From=user-1',
    });
    for (const body of [{ From: 'x' }, { 'From[]': 'x' }, { from: 'x' }])
      expect(await call(bound, { body })).toMatchObject({ ok: false });
    expect(received).toHaveLength(1);
  });
});

describe('a field that replaces the method of a request', () => {
  const open = { type: 'object', properties: { q: text }, additionalProperties: true };
  it.each(['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'is refused in a body of the type %s',
    async (type) => {
      const requestBody = { content: { [type]: { schema: open } } };
      const tool = await toolAt('/search', { requestBody }, { effect: 'read' }, 'post');
      for (const name of [
        ...['_method', '_METHOD', '_method[]', '[_method]', '.method', '_method\0', '_HttpMethod'],
        ...['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override'],
      ])
        expect(await call(tool, { body: { q: 'x', [name]: 'DELETE' } })).toEqual({
          ok: false,
          message: `The argument \`body\` cannot contain \`${name}\`.`,
        });
      expect(received).toEqual([]);
      expect(await call(tool, { body: { q: 'x', method: 'y' } })).toMatchObject({ ok: true });
    },
  );

  it('is refused in the query, if a free parameter adds it', async () => {
    const where = query('where', { type: 'object' }, { style: 'form', explode: true });
    const tool = await toolAt('/search', { parameters: [where] });
    expect(await call(tool, { where: { _method: 'DELETE' } })).toMatchObject({ ok: false });
    expect(received).toEqual([]);
  });
});

describe('the headers of an answer', () => {
  const sent = {
    link: '<https://api.example.com/orders?page=2>; rel="next"',
    'RateLimit-Remaining': '3',
    'X-RateLimit-Limit': '60',
    'Retry-After': '30',
    'X-Secret': 'hidden',
    'Set-Cookie': 'session=hidden',
  };
  const shown = {
    link: sent.link,
    'ratelimit-remaining': '3',
    'x-ratelimit-limit': '60',
    'retry-after': '30',
  };

  it('reach the agent if they say where the next page is and how many requests are left', async () => {
    more = sent;
    const tool = await toolAt('/orders', {});
    expect(await call(tool, {})).toEqual({ ok: true, result: { done: true }, headers: shown });
    status = 429;
    expect(await call(tool, {})).toMatchObject({ ok: false, headers: shown });
  });

  it('are short and contain no token and no line break', async () => {
    more = {
      link: `<https://x/?t=${token}>; ${'x'.repeat(2_000)}`,
      'x-ratelimit-key': 'a-secret-key-of-the-source',
    };
    const tool = await toolAt('/orders', {}, {}, 'get', {
      headers: { 'X-Api-Key': 'a-secret-key-of-the-source' },
    });
    const { headers } = (await call(tool, {})) as { headers: Record<string, string> };
    expect(headers.link).toMatch(/^<https:\/\/x\/\?t=\[token\]/);
    expect(headers.link?.length).toBeLessThanOrEqual(1_000);
    expect(headers['x-ratelimit-key']).toBe('[token]');
  });
});

describe('the path of a request', () => {
  it.each(['', '.', '..'])('never contains the segment %j from an argument', async (id) => {
    const tool = await toolAt('/orders/{id}/items', { parameters: [path('id')] });
    const answered = await call(tool, { id });
    expect(answered).toEqual({ ok: false, message: 'The argument `id` cannot be empty, `.` or `..`.' });
    expect(received).toEqual([]);
  });

  it('is checked before the person is asked to confirm the call', async () => {
    const tool = await toolAt('/orders/{id}', { parameters: [path('id')] }, {}, 'delete');
    expect(tool.unusable?.({ id: '' })).toBe('The argument `id` cannot be empty, `.` or `..`.');
    expect(tool.unusable?.({ id: '7' })).toBe(null);
  });

  it('never contains an empty segment, `.` or `..` from several arguments together, or from a style', async () => {
    const two = await toolAt('/{a}{b}', { parameters: [path('a'), path('b')] });
    expect(await call(two, { a: '.', b: '.' })).toMatchObject({ ok: false });
    expect(await call(two, { a: '', b: '' })).toMatchObject({ ok: false });
    const label = await toolAt('/x/{a}', { parameters: [path('a', { style: 'label' })] });
    for (const a of ['', '.']) expect(await call(label, { a })).toMatchObject({ ok: false });
    const list = await toolAt('/x/{a}', {
      parameters: [path('a', { schema: { type: 'array', items: text } })],
    });
    for (const a of [[], [''], ['..']]) expect(await call(list, { a })).toMatchObject({ ok: false });
    expect(received).toEqual([]);
  });

  it.each([
    ['...', '...'],
    ['50%', '50%25'],
    ['%2g', '%252g'],
    ['v1.2', 'v1.2'],
    ['..x', '..x'],
    ['@evil.example', '%40evil.example'],
    ['a?admin=1', 'a%3Fadmin%3D1'],
    ['a#b', 'a%23b'],
    ['a;b=c', 'a%3Bb%3Dc'],
    ['\u202e\u{1F600}', '%E2%80%AE%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
    ['__proto__', '__proto__'],
  ])('contains %j as one segment', async (id, segment) => {
    const tool = await toolAt('/orders/{id}', { parameters: [path('id')] });
    await call(tool, { id });
    expect(line()).toBe(`GET /v1/orders/${segment}`);
  });

  it.each(['a\r\nHost: evil', '\u0000', '..%00', 'a%250ab', '\uff0e\uff0e', '%c0%ae%c0%ae'])(
    'cannot be %j, of which a lenient server makes another path or another header',
    async (id) => {
      const tool = await toolAt('/orders/{id}', { parameters: [path('id')] });
      expect(await call(tool, { id })).toMatchObject({ ok: false, message: expect.stringMatching(/cannot/) });
      expect(received).toEqual([]);
    },
  );

  it.each([
    '../../bob/orders/1',
    '..\\..\\admin',
    'a/b',
    '/',
    '//evil.example',
    'https://evil.example/',
    'a%2fb',
    'a%2Fb',
    'a%5cb',
    'a%252fb',
    'a%255Cb',
    '%2e%2e%2fadmin',
    '%252e%252e%252fadmin',
  ])('never contains %j, because a proxy could read a slash in it', async (id) => {
    const tool = await toolAt('/orders/{id}', { parameters: [path('id')] });
    expect(await call(tool, { id })).toEqual({
      ok: false,
      message: 'The argument `id` cannot contain `/` or `\\`, not even percent-encoded.',
    });
    expect(received).toEqual([]);
  });

  it('may be a matrix parameter alone, but not a value that a server reads as one', async () => {
    const matrix = await toolAt('/x/{a}', { parameters: [path('a', { style: 'matrix' })] });
    await call(matrix, { a: 'b.c' });
    expect(line()).toBe('GET /v1/x/;a=b.c');
    const simple = await toolAt('/x/{a}', { parameters: [path('a')] });
    for (const a of [';', ';b', '%3bb']) expect(await call(simple, { a })).toMatchObject({ ok: false });
    expect(received).toHaveLength(1);
  });

  it.each(['%2e', '%2E%2e', '.%2e', '%252e%252E', '..;', '..;a=b', '%2e%2e%3bx'])(
    'never contains %j, because a proxy could read a dot segment in it',
    async (id) => {
      const tool = await toolAt('/orders/{id}', { parameters: [path('id')] });
      expect(await call(tool, { id })).toEqual({
        ok: false,
        message: 'The argument `id` cannot be empty, `.` or `..`.',
      });
      expect(received).toEqual([]);
    },
  );

  it('may contain a slash of a parameter with `allow_slash`, percent-encoded', async () => {
    const told = { parameters: { file: { allow_slash: true } } };
    const tool = await toolAt('/files/{file}/raw', { parameters: [path('file')] }, told);
    await call(tool, { file: 'src/a b.ts' });
    expect(line()).toBe('GET /v1/files/src%2Fa%20b.ts/raw');
  });

  it.each([
    '..',
    'a/../b',
    'a/..',
    './a',
    'a//b',
    '/a',
    'a/',
    '/',
    'a\\..\\b',
    'a%2f..%2fb',
    'a/%252e%252e/b',
    'a/..;/b',
  ])('never contains %j, even if the parameter has `allow_slash`', async (file) => {
    const told = { parameters: { file: { allow_slash: true } } };
    const tool = await toolAt('/files/{file}', { parameters: [path('file')] }, told);
    expect(await call(tool, { file })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^(The|No part of the) argument `file`/),
    });
    expect(received).toEqual([]);
  });

  it('never contains a slash of a parameter of the same segment without `allow_slash`', async () => {
    const told = { parameters: { a: { allow_slash: true } } };
    const tool = await toolAt('/files/{a}-{b}', { parameters: [path('a'), path('b')] }, told);
    expect(await call(tool, { a: 'x/y', b: 'p/q' })).toMatchObject({
      ok: false,
      message: expect.stringContaining('`b`'),
    });
    await call(tool, { a: 'x/y', b: 'p' });
    expect(line()).toBe('GET /v1/files/x%2Fy-p');
  });

  it('stays below the base URL, whatever the arguments are', async () => {
    const tool = await toolAt('/a/{x}/b{y}', {
      parameters: [path('x', { style: 'label' }), path('y', { style: 'matrix' }), query('q')],
    });
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc
        .array(
          fc.constantFrom('.', '/', '\\', '%', '2', 'e', 'f', '?', '#', '@', ':', ';', '\r', '\n', '\t', ' '),
          { maxLength: 8 },
        )
        .map((parts) => parts.join('')),
    );
    const requests: { path: string; search?: string }[] = [];
    const client = {
      request: async (request: { path: string; search?: string }) => {
        requests.push(request);
        return { outcome: 'answered', status: 200, body: null };
      },
    };
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (x, y, q) => {
        requests.length = 0;
        const sent = await tool.send({ x, y, q }, { client, idempotency_key: null } as never);
        if (sent.outcome === 'failed') {
          expect(requests).toEqual([]);
          return;
        }
        const [request] = requests;
        const url = new URL(`https://api.example.com${request?.path}?${request?.search}`);
        expect(url.origin).toBe('https://api.example.com');
        expect(url.hash).toBe('');
        // The URL parser has not resolved, dropped or added anything in the path.
        expect(url.pathname).toBe(request?.path);
        expect(asProxiesRead(request?.path ?? '')).not.toMatch(/[\\]|\/\/|\/\.{1,2}(?:;[^/]*)?(?:\/|$)/);
        expect(url.pathname.split('/').map((one) => decodeURIComponent(one))).toEqual([
          '',
          'a',
          `.${x.toWellFormed()}`,
          `b;y${y === '' ? '' : '='}${y.toWellFormed()}`,
        ]);
        expect([...url.searchParams]).toEqual([['q', q.toWellFormed()]]);
      }),
      { seed: 7, numRuns: 150 },
    );
  });
});

/** The path after a proxy and the API have each decoded it. */
function asProxiesRead(path: string): string {
  const decode = (text: string) =>
    text.replace(/%(2e|2f|5c|25|3b)/gi, (encoded) => decodeURIComponent(encoded));
  return decode(decode(decode(path)));
}

describe('the query and the headers of a request', () => {
  it('contain no additional parameter from the member names of an object', async () => {
    const parameters = [query('page'), query('where', { type: 'object' }, { style: 'form', explode: true })];
    const tool = await toolAt('/orders', { parameters });
    await call(tool, { where: { 'a&page=9': 'b=1&c', free: 'x' } });
    expect(line()).toBe('GET /v1/orders?a%26page%3D9=b%3D1%26c&free=x');
    expect(await call(tool, { where: { page: '9' } })).toEqual({
      ok: false,
      message: 'The argument `where` cannot contain `page`.',
    });
    expect(await call(tool, { where: { 'Page[a]': '9' } })).toMatchObject({ ok: false });
    expect(received).toHaveLength(1);
  });

  it.each(['a\r\nX-Admin: 1', 'a\nb', 'a\u0000', 'a\u007f', 'ü', '\u{1F600}'])(
    'refuse the value %j of a header',
    async (value) => {
      const tool = await toolAt('/orders', { parameters: [header('X-Mode')] });
      expect(await call(tool, { 'X-Mode': value })).toEqual({
        ok: false,
        message: 'The argument `X-Mode` can contain only printable ASCII characters.',
      });
      expect(received).toEqual([]);
    },
  );

  it.each([
    ...['Host', 'Transfer-Encoding'],
    'X-HTTP-Method-Override',
    'x-http-method',
    'X-Method-Override',
    'X_HTTP_Method_Override',
    'Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'x-forwarded-user',
    'X-Original-URL',
    'X-Original-Host',
    'X-Rewrite-URL',
    'X-Real-IP',
    ...['Cf-Access-Jwt-Assertion', 'Tailscale-User-Login', 'X-Pomerium-Jwt-Assertion', 'X-SSL-Client-S-DN'],
    ...['Ssl-Client-Cert', 'X-Client-Cert', 'X-ARR-ClientCert', 'X-Auth-User'],
    ...['X-Userinfo', 'X-Apigateway-Api-Userinfo', 'X-Endpoint-API-UserInfo'],
    ...['X-JWT-Assertion', 'X-MS-Token-AAD-Id-Token'],
    'True-Client-IP',
    'X-Client-IP',
    'X-Cluster-Client-IP',
    'CF-Connecting-IP',
    'X-Host',
    'Remote-User',
    'X-Remote-User',
    'X-Auth-Request-Email',
    'X-Authenticated-User',
    'Impersonate-User',
    'As-User',
    'Sudo',
  ])('never contain %s: the model is not offered it', async (name) => {
    const tool = await toolAt('/orders', { parameters: [header(name), header('X-Mode')] });
    expect(Object.keys(tool.parameters.properties as object)).toEqual(['X-Mode']);
    const required = { get: { operationId: 'a', parameters: [{ ...header(name), required: true }], ...OK } };
    expect(await problemsOf(documentOf({ '/orders': required }), { a: {} })).toEqual([
      expect.stringContaining(`requires the header \`${name}\`, which no tool may set`),
    ]);
  });

  it('treat names of the object prototype as plain names', async () => {
    const parameters = [
      query('constructor'),
      query('where', { type: 'object' }, { style: 'deepObject', explode: true }),
    ];
    const tool = await toolAt('/orders', { parameters });
    await call(tool, {});
    await call(tool, JSON.parse('{"constructor":"a","where":{"__proto__":"b","toString":"c"}}'));
    expect(received.map(({ url }) => url)).toEqual([
      '/v1/orders',
      '/v1/orders?constructor=a&where%5B__proto__%5D=b&where%5BtoString%5D=c',
    ]);
  });
});
