import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withRequestContext } from '../../../../src/daemon/agent/context.ts';
import { describeSource } from '../../../../src/daemon/tools/describe-source.ts';
import { readOpenApiTools } from '../../../../src/daemon/tools/openapi/read-tools.ts';
import type { ToolEntry } from '../../../../src/daemon/tools/source-entry.ts';
import type { Tool } from '../../../../src/daemon/tools/tool.ts';
import { signToken } from '../../../support/fake-api.ts';
import { documentOf, entryOf } from '../../../support/openapi.ts';
import { contextOf, sessionOf } from '../../../support/request-context.ts';
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
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method = '', url = '', headers } = request;
    received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    const location = status === 302 ? { location: 'http://127.0.0.1:1/elsewhere' } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...location }).end(answer);
  });
});
let base = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => new Promise((resolve) => server.close(() => resolve(null))));
beforeEach(() => {
  received = [];
  status = 200;
  answer = '{"done":true}';
});

/** The tool of one operation at the path `at`. The server in this file gets the requests of the tool. */
async function toolAt(at: string, operation: object, told: ToolEntry = {}, method = 'get'): Promise<Tool> {
  const document = documentOf({ [at]: { [method]: { operationId: 'a', ...operation, ...OK } } });
  const entry = entryOf(
    document,
    { a: { confirm: 'never', credentials: 'none', ...told } },
    { base_url: base },
  );
  const { tools, problems } = await readOpenApiTools(entry, describeSource(entry, base));
  expect(problems).toEqual([]);
  return tools[0] as Tool;
}

const TOKEN = signToken(
  { sub: 'user-1', email: 'alice@example.com' },
  'a secret of the tests that is long enough',
);

/** Calls the tool as the agent does, with Alice signed in. */
function call(tool: Tool, args: object) {
  const context = contextOf(sessionOf('s', 'u', { sub: 'user-1', email: 'alice@example.com', token: TOKEN }));
  return withRequestContext(context, () => bindOne(tool, { access: accessTo(base) }).bound.call(args));
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
      id: 'a b/c',
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
      'PATCH /v1/orders/a%20b%2Fc/x;parts=1;parts=2/?ids=3,4&filter%5Bstate%5D=open&filter%5Bp%26q%5D=1&tags=a%7Cb%7Cc&where=/x?y&json=%7B%22n%22%3A%5B1%5D%7D',
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
      { body: { owner: 'bob@example.com' } },
      { filter: { customer: 'user-2' } },
      { filter: { CUSTOMER: 'user-2' } },
      { filter: { 'customer[]': 'user-2' } },
    ])
      expect(await call(tool, args)).toMatchObject({ ok: false });
    expect(received).toHaveLength(1);
  });

  it('returns the status and the body of an error, and does not follow a redirect', async () => {
    const tool = await toolAt('/orders', {});
    status = 409;
    answer = '{"error":"Already cancelled."}';
    const conflict = await call(tool, {});
    expect(conflict.ok).toBe(false);
    expect(JSON.stringify(conflict)).toContain('Already cancelled.');
    status = 302;
    expect(await call(tool, {})).toMatchObject({ ok: false });
    expect(received).toHaveLength(2);
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
    ['../../admin', '..%2F..%2Fadmin'],
    ['..\\..\\admin', '..%5C..%5Cadmin'],
    ['%2e%2e', '%252e%252e'],
    ['%2e%2e%2fadmin', '%252e%252e%252fadmin'],
    ['...', '...'],
    ['//evil.example', '%2F%2Fevil.example'],
    ['https://evil.example/', 'https%3A%2F%2Fevil.example%2F'],
    ['@evil.example', '%40evil.example'],
    ['a?admin=1', 'a%3Fadmin%3D1'],
    ['a#b', 'a%23b'],
    ['a;b=c', 'a%3Bb%3Dc'],
    ['a\r\nHost: evil', 'a%0D%0AHost%3A%20evil'],
    ['\u0000', '%00'],
    ['\u202e\u{1F600}', '%E2%80%AE%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
    ['\uff0e\uff0e', '%EF%BC%8E%EF%BC%8E'],
    ['__proto__', '__proto__'],
  ])('contains %j as one segment', async (id, segment) => {
    const tool = await toolAt('/orders/{id}', { parameters: [path('id')] });
    await call(tool, { id });
    expect(line()).toBe(`GET /v1/orders/${segment}`);
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
