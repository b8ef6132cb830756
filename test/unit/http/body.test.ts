import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/daemon/http/body.ts';
import { cpuTime } from '../../support/cpu-time.ts';
import { closeAll, echo, post, problem, type Served, sendRaw, serve } from './serve.ts';

describe('the body of a request', () => {
  let web: Served;
  beforeAll(async () => {
    web = await serve({
      // Some requests below contain X-Forwarded-For, which causes a warning if no proxy is trusted.
      settings: { TRUST_PROXY: 1 },
      routes: [
        echo,
        {
          method: 'POST',
          path: '/hook',
          handle: (request) => ({
            body: {
              bytes: [...request.body],
              same: sameTwice(() => request.json()),
              form: [...request.form()],
            },
          }),
        },
        {
          method: 'POST',
          path: '/parts',
          body: 'multipart',
          bodyLimit: 65_536,
          async handle(request) {
            const parts = [...(await request.multipart())];
            const files = await Promise.all(
              parts.flatMap(([, part]) =>
                typeof part === 'string'
                  ? []
                  : [part.bytes().then((bytes) => ({ name: part.name, type: part.type, bytes: [...bytes] }))],
              ),
            );
            const texts = Object.fromEntries(parts.filter(([, part]) => typeof part === 'string'));
            return { body: { texts, files, signed: request.body.length > 0 } };
          },
        },
        { method: 'DELETE', path: '/echo', handle: (request) => ({ body: { length: request.body.length } }) },
      ],
    });
  });
  afterAll(closeAll);

  test('arrives as a JSON object, even in chunks, after a byte order mark, or if its content type has capitals or a charset', async () => {
    for (const type of [
      'application/json',
      'Application/JSON; charset=UTF-8',
      'application/json; charset="utf-8"',
    ]) {
      expect(await (await post(`${web.url}/echo`, '{"a":"ü"}', { 'Content-Type': type })).json()).toEqual({
        got: { a: 'ü' },
      });
    }
    expect((await post(`${web.url}/echo`, '\u{feff}{}')).status).toBe(200);
    const chunked =
      'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n';
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
    expect(await sendRaw(web.port, head + chunked)).toContain('{"got":{"a":1}}');
  });

  test('arrives as parts at a route with `body: multipart`, with its exact bytes', async () => {
    const sent = new FormData();
    sent.append('from', 'ada@example.com');
    sent.append('text', 'Grüße\r\n--not a boundary');
    sent.append('file', new File([new Uint8Array([0, 255, 13, 10])], 'a"b.bin', { type: 'image/png' }));
    const response = await fetch(`${web.url}/parts`, { method: 'POST', body: sent });
    expect(await response.json()).toEqual({
      texts: { from: 'ada@example.com', text: 'Grüße\r\n--not a boundary' },
      files: [{ name: 'a"b.bin', type: 'image/png', bytes: [0, 255, 13, 10] }],
      signed: true,
    });
  });

  test.each([
    ['without its end', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'],
    ['without a part', ''],
    [
      'with 101 parts',
      `${'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(101)}--x--\r\n`,
    ],
  ])('is refused as invalid_request at a route with `body: multipart`: %s', async (_what, text) => {
    const response = await post(`${web.url}/parts`, text, {
      'Content-Type': 'multipart/form-data; boundary=x',
    });
    expect([response.status, (await problem(response)).code]).toEqual([400, 'invalid_request']);
  });

  test('has 100 parts at most at a route with `body: multipart`', async () => {
    const text = `${'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(100)}--x--\r\n`;
    const response = await post(`${web.url}/parts`, text, {
      'Content-Type': 'multipart/form-data; boundary=x',
    });
    expect(response.status).toBe(200);
  });

  test.each(['application/json', 'application/x-www-form-urlencoded', 'multipart/mixed; boundary=x'])(
    'is refused at a route with `body: multipart` if its type is %s',
    async (type) => {
      const response = await post(`${web.url}/parts`, '{}', { 'Content-Type': type });
      expect([response.status, (await problem(response)).code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  test('arrives at the handler with its exact bytes, and is parsed only once', async () => {
    const response = await post(`${web.url}/hook`, new Uint8Array([123, 125, 32, 10]));
    expect(await response.json()).toEqual({ bytes: [123, 125, 32, 10], same: true, form: [['{} \n', '']] });
  });

  test.each(['', '{', '[]', 'null', '"text"', '1', '{"a":1}x', "{'a':1}"])(
    'is refused as malformed_json: %j',
    async (text) => {
      const response = await post(`${web.url}/echo`, text);
      expect([response.status, (await problem(response)).code]).toEqual([400, 'malformed_json']);
    },
  );

  test('is refused as malformed_json if it is not UTF-8, and the answer does not quote it', async () => {
    const response = await post(
      `${web.url}/echo`,
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    );
    expect(response.status).toBe(400);
    expect((await problem(response)).detail).toBe('The body is not valid JSON in UTF-8.');
  });

  test('is refused as invalid_request if it has more than 64 nested levels', async () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
    expect((await post(`${web.url}/echo`, nested(64))).status).toBe(200);
    const response = await post(`${web.url}/echo`, nested(65));
    expect([response.status, (await problem(response)).code]).toEqual([400, 'invalid_request']);
    const list = await post(`${web.url}/echo`, '['.repeat(2048));
    expect([list.status, (await problem(list)).code]).toEqual([400, 'malformed_json']);
  });

  test('is accepted if the brackets that look nested are in strings', () => {
    const text = `${'['.repeat(100)}"${'{'.repeat(100)}\\`;
    const body = JSON.stringify({ text, [text]: [[], [], {}], after: '}' });
    expect(parseJson(Buffer.from(body))).toEqual(JSON.parse(body));
  });

  test('does not delay other requests if it is deeply nested', () => {
    const body = Buffer.from(`{"a":${'['.repeat(8e6)}${']'.repeat(8e6)}}`);
    const took = cpuTime(() => expect(() => parseJson(body)).toThrow('The body is nested too deeply.'));
    expect(took).toBeLessThan(1000);
  });

  test.each([
    ['text/plain', {}],
    ['', {}],
    ['application/json-patch+json', {}],
    ['application/json; charset=latin1', {}],
    ['application/json', { 'Content-Encoding': 'gzip' }],
  ])('is refused as unsupported_media_type with content type %j and headers %j', async (type, headers) => {
    const body = 'Content-Encoding' in headers ? new Uint8Array(gzipSync('{}')) : '{}';
    const response = await post(`${web.url}/echo`, body, { 'Content-Type': type, ...headers });
    expect([response.status, (await problem(response)).code]).toEqual([415, 'unsupported_media_type']);
  });

  test('is refused as body_too_large if it exceeds the limit, even if its length is not announced', async () => {
    const exact = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`;
    expect((await post(`${web.url}/echo`, exact(2048))).status).toBe(200);
    for (const length of [2049, 300_000, 3_000_000]) {
      const response = await post(`${web.url}/echo`, exact(length));
      expect(response.status).toBe(413);
      expect(await problem(response)).toMatchObject({
        code: 'body_too_large',
        detail: 'The body is larger than 2048 bytes.',
      });
    }
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n';
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    expect(await sendRaw(web.port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 413 /,
    );
  });

  test('does not prevent another request on the same connection if it is refused', async () => {
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
    const first = `${head}Content-Length: 4096\r\n\r\n${'x'.repeat(4096)}`;
    const answer = await sendRaw(web.port, `${first}${head}Connection: close\r\nContent-Length: 2\r\n\r\n{}`);
    expect(answer).toMatch(/^HTTP\/1.1 413 [\s\S]*HTTP\/1.1 200 /);
  });

  test.each([
    ['POST', '/hook', 1100],
    ['GET', '/', 40_000],
    ['PUT', '/hook', 40_000],
  ])('ends its connection if it arrives in too many pieces: %s %s', async (method, path, count) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const next = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const send = (pieces: number) =>
      sendRaw(web.port, `${head}${'1\r\na\r\n'.repeat(pieces)}0\r\n\r\n${next}`);
    expect((await send(900)).match(/HTTP\/1\.1 /g)).toHaveLength(2);
    // A GET or PUT here is answered before its body has arrived, so only the request behind them gets no answer.
    expect((await send(count)).match(/HTTP\/1\.1 /g) ?? []).toHaveLength(method === 'POST' ? 0 : 1);
  });

  test('may be present or absent in a DELETE', async () => {
    expect(await (await fetch(`${web.url}/echo`, { method: 'DELETE' })).json()).toEqual({ length: 0 });
    expect(await (await fetch(`${web.url}/echo`, { method: 'DELETE', body: 'abc' })).json()).toEqual({
      length: 3,
    });
  });

  test('never causes a 5xx, whatever its bytes and headers are, and the answer always has the request id', async () => {
    const value = fc.string({ unit: fc.constantFrom(...'abc;="/*, -\t0'), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom('POST', 'PUT', 'DELETE'),
        fc.constantFrom('/echo', '/hook', '/', '/%', '/echo?%'),
        value,
        value,
        async (body, method, path, type, forwarded) => {
          const headers = {
            'Content-Type': type,
            'X-Forwarded-For': forwarded,
            Origin: type,
          };
          const response = await fetch(`${web.url}${path}`, { method, body: new Uint8Array(body), headers });
          await response.arrayBuffer();
          expect(response.status).toBeLessThan(500);
          expect(response.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
        },
      ),
      { numRuns: 200 },
    );
    expect(web.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  test('arrives unchanged, whatever object it is', async () => {
    const object = fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
    await fc.assert(
      fc.asyncProperty(object, async (sent) => {
        const text = JSON.stringify(sent);
        fc.pre(Buffer.byteLength(text) <= 2048);
        const response = await post(`${web.url}/echo`, text);
        expect(await response.text()).toBe(JSON.stringify({ got: JSON.parse(text) }));
      }),
      { numRuns: 50 },
    );
  });
});

function sameTwice(ask: () => unknown): boolean {
  const first = ask();
  return first === ask();
}
