import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { ResponseHead } from '../../../src/daemon/http/exchange.ts';

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

it('a head that was handed over sets its headers, and further ones, on the response', () => {
  const { head, calls } = collect();
  head.set('X-One', '1');
  head.handOver();
  head.set('X-Two', '2');
  head.handOver();
  head.send(200, Buffer.from('four'));
  expect(calls).toEqual([
    ['setHeader', 'X-One', '1'],
    ['setHeader', 'X-Two', '2'],
    ['setHeader', 'Content-Length', '4'],
    ['writeHead', 200, []],
    ['end', Buffer.from('four')],
  ]);
});
