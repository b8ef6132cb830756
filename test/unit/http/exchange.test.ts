import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { type Middleware, passThrough, ResponseHead } from '../../../src/daemon/http/exchange.ts';

/** A head, and the calls that it makes on Node's response. */
function collect() {
  const calls: unknown[][] = [];
  const record =
    (method: string) =>
    (...args: unknown[]) =>
      void calls.push([method, ...args]);
  const response = { setHeader: record('setHeader'), writeHead: record('writeHead'), end: record('end') };
  return { head: new ResponseHead(response as unknown as ServerResponse), calls };
}

it('the head of a response is written at once, each header as it was set last, whatever its case', () => {
  const { head, calls } = collect();
  head.set('Cache-Control', 'no-store');
  head.setAll({ 'X-One': '1', 'Set-Cookie': ['a=1', 'b=2'] });
  head.set('cache-control', 'max-age=60');
  head.send(200, 'größer');
  const fields = ['cache-control', 'max-age=60', 'X-One', '1', 'Set-Cookie', ['a=1', 'b=2']];
  expect(calls).toEqual([
    ['writeHead', 200, [...fields, 'Content-Length', '8']],
    ['end', 'größer'],
  ]);
});

it('a head adds names to `Vary`, each once', () => {
  const { head, calls } = collect();
  head.vary('Accept');
  head.set('Vary', 'Origin');
  head.vary(['Accept, Origin', 'Cookie']);
  head.begin(204);
  expect(calls).toEqual([['writeHead', 204, ['Vary', 'Origin, Accept, Cookie']]]);
});

/** Passes a request through middleware. @returns what it did in their order, and with the response */
async function passed(middleware: (told: string[]) => Middleware[]) {
  const told: string[] = [];
  const response = { statusCode: 200, destroy: () => told.push('destroyed') };
  const listener = passThrough(middleware(told), (error) => told.push(String(error)));
  listener({ method: 'GET', url: '/x' } as IncomingMessage, response as unknown as ServerResponse);
  await new Promise(setImmediate);
  return { told, status: response.statusCode };
}

it('middleware gets each request in order, and may do something when the others are done', async () => {
  const { told, status } = await passed((told) => [
    async ({ method, url }, next) => {
      told.push(`${method} ${url}`);
      await next();
      told.push('done');
    },
    ({ state }, next) => {
      state.request_id = 'r';
      return next();
    },
    ({ state }) => void told.push(state.request_id),
  ]);
  expect(told).toEqual(['GET /x', 'r', 'done']);
  // Nothing was answered.
  expect(status).toBe(499);
});

it('an error that no middleware handles breaks the connection', async () => {
  const fail = () => {
    throw new Error('broken');
  };
  expect((await passed(() => [(_, next) => next(), fail])).told).toEqual(['Error: broken', 'destroyed']);
});
