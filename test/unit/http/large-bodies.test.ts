import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Route } from '../../../src/channel/index.ts';
import { LARGE_AT_ONCE, LargeBodies } from '../../../src/daemon/http/body.ts';
import { closeAll, echo, post, problem, type Served, sendRaw, serve, until } from './serve.ts';

// A platform may send a body that is larger than BODY_LIMIT_BYTES, which is 2,048 here.

let web: Served;
let gate: PromiseWithResolvers<void>;
let inside: number;
let now = 1_700_000_000_000;
const senders: Socket[] = [];

beforeAll(async () => {
  web = await serve({
    now: () => now,
    routes: [
      echo,
      { ...echo, path: '/large', bodyLimit: 8192 },
      { ...echo, path: '/small', bodyLimit: 1024 },
      {
        method: 'POST',
        path: '/held',
        bodyLimit: 8192,
        async handle() {
          inside++;
          await gate.promise;
          return { status: 204 };
        },
      },
    ],
  });
});
afterAll(closeAll);
afterEach(() => {
  for (const sender of senders.splice(0)) sender.destroy();
});

const body = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`;
const statusOf = async (path: string, length: number) =>
  (await post(`${web.url}${path}`, body(length))).status;

const CHUNKED_HEAD =
  'POST /large HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunked = (length: number) =>
  sendRaw(web.port, `${CHUNKED_HEAD}${length.toString(16)}\r\n${body(length)}\r\n0\r\n\r\n`);

test('only a route with a bodyLimit accepts a body over BODY_LIMIT_BYTES, and only up to its own limit', async () => {
  expect(await statusOf('/large', 8192)).toBe(200);
  expect(await statusOf('/echo', 2049)).toBe(413);
  const refused = await post(`${web.url}/large`, body(8193));
  expect(await problem(refused)).toMatchObject({
    code: 'body_too_large',
    detail: 'The body is larger than 8192 bytes.',
  });
});

test('BODY_LIMIT_BYTES over 4 MiB does not raise the limit of a webhook, which its bodyLimit marks', () => {
  const [MiB, bodies] = [1024 * 1024, new LargeBodies(() => 16 * 1024 * 1024, { now: () => 0 })];
  const limitOf = (length: number, route: object) =>
    bodies.enter({ headers: { 'content-length': String(length) }, socket: { bytesRead: 0 } } as never, {
      ...echo,
      ...route,
    }).limit;
  for (const bodyLimit of [1024, 4 * MiB]) expect(limitOf(5 * MiB, { bodyLimit })).toBe(4 * MiB);
  expect(limitOf(1000, { bodyLimit: 4 * MiB })).toBe(4 * MiB);
  expect(limitOf(5 * MiB, {})).toBe(16 * MiB);
});

test('a bodyLimit below BODY_LIMIT_BYTES does not lower the limit', async () => {
  expect([await statusOf('/small', 2048), await statusOf('/small', 2049)]).toEqual([200, 413]);
});

test('the same limit applies to a body whose length is not announced', async () => {
  expect(await chunked(8192)).toMatch(/^HTTP\/1.1 200 /);
  expect(await chunked(8193)).toMatch(/^HTTP\/1.1 413 /);
});

test('while 16 large bodies are received, another large body gets 503, but smaller bodies are accepted', async () => {
  gate = Promise.withResolvers();
  inside = 0;
  const held = Array.from({ length: LARGE_AT_ONCE }, () => statusOf('/held', 8192));
  await until(() => inside === LARGE_AT_ONCE);

  const refused = await post(`${web.url}/large`, body(2049));
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await problem(refused)).toMatchObject({ code: 'unavailable' });
  expect(await statusOf('/large', 2048)).toBe(200);
  expect(await chunked(2048)).toMatch(/^HTTP\/1.1 200 /);
  expect(await chunked(2049)).toMatch(/^HTTP\/1.1 503 [\s\S]*\r\nRetry-After: 5\r\n/);
  // A body over the limit of its route gets 413 even now, because it needs no slot.
  expect(await statusOf('/large', 8193)).toBe(413);

  gate.resolve();
  expect(new Set(await Promise.all(held))).toEqual(new Set([204]));
  expect(await statusOf('/large', 8192)).toBe(200);
});

/** Announces a large body and sends none of it. */
async function announce(): Promise<Socket> {
  const sender = connect(web.port, '127.0.0.1');
  senders.push(sender);
  sender.on('error', () => {});
  sender.write('POST /large HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n');
  sender.write('Expect: 100-continue\r\nContent-Length: 8192\r\n\r\n');
  await once(sender, 'data');
  return sender;
}

test('a slow sender of a large body loses its slot to a sender that needs one', async () => {
  const slow = await Promise.all(Array.from({ length: LARGE_AT_ONCE }, announce));
  expect(await statusOf('/large', 8192)).toBe(503);
  now += 1000;
  const left = Promise.race(slow.map((sender) => once(sender, 'close')));
  expect(await statusOf('/large', 8192)).toBe(200);
  await left;
});

describe('the sender that loses its slot to another sender', () => {
  const WANTED = 1_000_000;
  const route: Route = { ...echo, bodyLimit: WANTED };
  let time: number;
  let bodies: LargeBodies;
  beforeEach(() => {
    time = 0;
    bodies = new LargeBodies(() => 2048, { now: () => time });
  });

  class Sender {
    readonly socket = { bytesRead: 500 };
    readonly headers = { 'content-length': String(WANTED) };
    complete = false;
    destroyed = false;
    room = bodies.enter(this as unknown as IncomingMessage, route);
    destroy() {
      this.destroyed = true;
    }
  }
  const fill = () => Array.from({ length: LARGE_AT_ONCE }, () => new Sender());

  test('is the slowest sender', () => {
    const all = fill();
    for (const [index, { socket }] of all.entries()) socket.bytesRead += index === 7 ? 100 : 200;
    time += 1000;
    new Sender();
    expect(all.flatMap(({ destroyed }, index) => (destroyed ? [index] : []))).toEqual([7]);
    // The sender that lost its slot cannot release it: the slot belongs to the new sender.
    all[7]?.room.leave();
    for (const [index, { socket }] of all.entries()) if (index !== 7) socket.bytesRead = 1_000_000;
    expect(() => new Sender()).toThrow(expect.objectContaining({ code: 'unavailable' }));
  });

  test('has had its slot for at least a second', () => {
    fill();
    time += 999;
    expect(() => new Sender()).toThrow('Too many large bodies');
  });

  test('has sent less than 256 KiB per second, and not yet the whole body', () => {
    const all = fill();
    for (const sender of all) {
      if (all.indexOf(sender) % 2 === 0) sender.complete = true;
      else sender.socket.bytesRead += 2 * 262_144;
    }
    time += 2000;
    expect(() => new Sender()).toThrow('Too many large bodies');
    time += 1;
    new Sender();
    expect(all.map(({ destroyed }) => destroyed).indexOf(true)).toBe(1);
  });
});
