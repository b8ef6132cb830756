import { beforeEach, describe, expect, test } from 'vitest';
import { type NewReader, READERS_PER_STREAM, Readers } from '../../../src/daemon/stream/readers.ts';

let readers: Readers;
beforeEach(() => {
  readers = new Readers();
});

interface Reader extends NewReader {
  method: string;
  address: string;
  signal: AbortSignal;
}
const enterOne = (given: Partial<Reader> = {}) => {
  const request = { method: 'GET', address: 'a', signal: new AbortController().signal, ...given };
  return readers.enter(request, { stream_id: 's', maxPerClient: 256, signedIn: false, ...given });
};
const enter = (count: number, given: (index: number) => Partial<Reader>) =>
  Array.from({ length: count }, (_, index) => enterOne(given(index)));
const TOO_MANY = expect.objectContaining({ code: 'too_many_readers', status: 429, retryAfter: 10 });

describe('the readers of a process', () => {
  test('can be at most 64 per stream, whatever their addresses are', () => {
    const [first] = enter(64, (index) => ({ address: `a${index}` }));
    expect(() => enterOne({ address: 'b' })).toThrow(TOO_MANY);
    enterOne({ stream_id: 'another' });
    first?.();
    enterOne({ address: 'b' });
    expect(() => enterOne({ address: 'b' })).toThrow(TOO_MANY);
  });

  test('are limited per address by the setting, across all streams', () => {
    const [first] = enter(3, (index) => ({ stream_id: `s${index}`, maxPerClient: 3 }));
    expect(() => enterOne({ stream_id: 'new', maxPerClient: 3 })).toThrow(TOO_MANY);
    enterOne({ stream_id: 'new', maxPerClient: 3, address: 'b' });
    first?.();
    enterOne({ stream_id: 'new', maxPerClient: 3 });
  });

  test('with a valid token are not counted, either for the stream or for the address', () => {
    enter(READERS_PER_STREAM, () => ({ maxPerClient: READERS_PER_STREAM }));
    enter(100, () => ({ signedIn: true, maxPerClient: READERS_PER_STREAM }));
    expect(() => enterOne()).toThrow(TOO_MANY);
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
    for (let i = 0; i < 5; i++) expect(() => enterOne({ maxPerClient: 3 })).toThrow(TOO_MANY);
    enter(READERS_PER_STREAM - 3, (index) => ({ address: `b${index}` }));
  });
});

describe('a request that reads a stream', () => {
  test('no longer counts when its client disconnects, even if the stream was never read', () => {
    const client = new AbortController();
    enterOne({ signal: client.signal });
    expect(readers.size).toBe(2);
    client.abort();
    expect(readers.size).toBe(0);
  });

  test('does not count as a reader if it requests only the head', () => {
    enterOne({ method: 'HEAD' });
    expect(readers.size).toBe(0);
  });
});
