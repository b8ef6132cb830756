import { beforeEach, describe, expect, test } from 'vitest';
import type { ChannelRequest } from '../../../src/channel/index.ts';
import {
  enterReader,
  type NewReader,
  READERS_PER_STREAM,
  Readers,
} from '../../../src/daemon/stream/readers.ts';

let readers: Readers;
beforeEach(() => {
  readers = new Readers();
});

const reader = (given: Partial<NewReader> = {}): NewReader => ({
  stream_id: 's',
  address: 'a',
  maxPerClient: 256,
  signedIn: false,
  ...given,
});
const enter = (count: number, given: (index: number) => Partial<NewReader>) =>
  Array.from({ length: count }, (_, index) => readers.enter(reader(given(index))));
const TOO_MANY = expect.objectContaining({ code: 'too_many_readers', status: 429, retryAfter: 10 });

describe('the readers of a process', () => {
  test('can be at most 64 per stream, whatever their addresses are', () => {
    const [first] = enter(64, (index) => ({ address: `a${index}` }));
    expect(() => readers.enter(reader({ address: 'b' }))).toThrow(TOO_MANY);
    readers.enter(reader({ stream_id: 'another' }));
    first?.();
    readers.enter(reader({ address: 'b' }));
    expect(() => readers.enter(reader({ address: 'b' }))).toThrow(TOO_MANY);
  });

  test('are limited per address by the setting, across all streams', () => {
    const [first] = enter(3, (index) => ({ stream_id: `s${index}`, maxPerClient: 3 }));
    expect(() => readers.enter(reader({ stream_id: 'new', maxPerClient: 3 }))).toThrow(TOO_MANY);
    readers.enter(reader({ stream_id: 'new', maxPerClient: 3, address: 'b' }));
    first?.();
    readers.enter(reader({ stream_id: 'new', maxPerClient: 3 }));
  });

  test('with a valid token are not counted, either for the stream or for the address', () => {
    enter(READERS_PER_STREAM, () => ({ maxPerClient: READERS_PER_STREAM }));
    enter(100, () => ({ signedIn: true, maxPerClient: READERS_PER_STREAM }));
    expect(() => readers.enter(reader())).toThrow(TOO_MANY);
  });

  test('leave no data behind, even if they are removed twice', () => {
    const leaves = enter(10, (index) => ({ stream_id: `s${index % 2}`, address: `a${index % 3}` }));
    for (const leave of leaves) {
      leave();
      leave();
    }
    expect(readers.size).toBe(0);
  });

  test('are not counted if they were refused', () => {
    enter(3, () => ({ maxPerClient: 3 }));
    for (let i = 0; i < 5; i++) expect(() => readers.enter(reader({ maxPerClient: 3 }))).toThrow(TOO_MANY);
    enter(READERS_PER_STREAM - 3, (index) => ({ address: `b${index}` }));
  });
});

describe('a request that reads a stream', () => {
  const options = { stream_id: 's', signedIn: false, maxPerClient: undefined };
  const request = (method: string, signal: AbortSignal) =>
    ({ method, address: 'a', signal }) as unknown as ChannelRequest;

  test('no longer counts when its client disconnects, even if the stream was never read', () => {
    const client = new AbortController();
    enterReader(readers, request('GET', client.signal), options);
    expect(readers.size).toBe(2);
    client.abort();
    expect(readers.size).toBe(0);
  });

  test('does not count as a reader if it requests only the head', () => {
    enterReader(readers, request('HEAD', new AbortController().signal), options);
    expect(readers.size).toBe(0);
  });
});
