import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import sse, { encodeFrames, writeEvents } from '../../../plugins/sse/index.ts';
import type { OpenStream, ResponseStream, StreamEvent, StreamReader } from '../../../src/channel/index.ts';
import { readToken } from '../../../src/channel/read-message.ts';

const scope = { problem: (code: string, detail: string) => new Error(`${code}: ${detail}`) };

function event(id: number): StreamEvent {
  return { id, event: 'text_chunk', data: `{"text":"${id}"}` };
}

/** A stream whose events come from the test, and a response whose socket the test can mark as full. */
function writing() {
  const gone = new AbortController();
  const end = Promise.withResolvers<void>();
  let reader: StreamReader | undefined;
  const stream: OpenStream = {
    follow(follower) {
      reader = follower;
      return end.promise;
    },
  };
  const state = { full: false, drained: () => {}, written: [] as string[] };
  const out: ResponseStream = {
    signal: gone.signal,
    write(frame) {
      if (gone.signal.aborted) return false;
      state.written.push(Buffer.from(frame as string).toString());
      return !state.full;
    },
    drained: () =>
      new Promise((resolve) => {
        state.drained = resolve;
      }),
  };
  return {
    state,
    done: writeEvents(stream, out, scope, false),
    take: (...events: StreamEvent[]) => reader?.take(events),
    room: () => reader?.room(),
    end: end.resolve,
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a request for a stream', () => {
  it('says which event its client has: in the header of a reconnect, or else in its address', async () => {
    const opened: unknown[] = [];
    const keep = async (...given: unknown[]) => void opened.push(given[2]);
    const streams = { open: keep, stop: keep };
    const settings = { SSE_STREAM_TTL_SECONDS: 300, SSE_MAX_READERS_PER_CLIENT: 5, SSE_REQUIRE_TOKEN: true };
    const { routes } = await sse.create({ settings, streams } as never);
    const read = routes.find(({ method }) => method === 'GET');
    const ask = (query: string, headers: Record<string, string> = {}) =>
      read?.handle({ params: { stream_id: 's' }, headers, query: new URLSearchParams(query) } as never);
    await ask('last_event_id=3', { 'last-event-id': '7' });
    await ask('last_event_id=3&token=t', { cookie: 'jwt_token=c' });
    await ask('last_event_id=x');
    const stop = routes.find(({ method }) => method === 'DELETE');
    const named = { params: { stream_id: 's' }, headers: {}, query: new URLSearchParams() };
    await stop?.handle(named as never);
    expect(opened).toMatchObject([
      { after: 7, tokens: { ambient: [], explicit: undefined, required: true }, max_readers_per_client: 5 },
      { after: 3, tokens: { ambient: ['c'], explicit: 't' } },
      { after: 0 },
      { tokens: { required: true } },
    ]);
  });
});

it('a message on a stream has its token in the header or the body, not in the metadata', async () => {
  const { routes } = await sse.create({ settings: {}, readToken } as never);
  const post = routes.find(({ method }) => method === 'POST');
  expect(post).toMatchObject({ cors: true, limited: true });
  const tokenIn = (body: object, headers = {}) => post?.token?.({ headers, json: () => body } as never);
  expect(tokenIn({ metadata: { jwt_token: 'm' } })).toBeUndefined();
  expect(tokenIn({ jwt_token: 'b' })).toBe('b');
  expect(tokenIn({ jwt_token: 'b' }, { authorization: 'Bearer h' })).toBe('h');
});

describe('an event stream', () => {
  it('sends the reconnect time once and then the events, and sends events that arrive together in one write', async () => {
    const { take, end, done, state } = writing();
    take(event(1), event(2));
    take(event(3));
    end();
    await done;
    expect(state.written).toEqual([
      'retry: 1000\n\n',
      'id: 1\nevent: text_chunk\ndata: {"text":"1"}\n\nid: 2\nevent: text_chunk\ndata: {"text":"2"}\n\n',
      'id: 3\nevent: text_chunk\ndata: {"text":"3"}\n\n',
    ]);
  });

  it('encodes a list of events once for all readers', () => {
    const events = [event(1), event(2)];
    expect(encodeFrames(events, false)).toBe(encodeFrames(events, false));
    expect(encodeFrames(events, true)).toBe(encodeFrames(events, true));
  });

  it('tells more of a call of a tool only to a reader that asks for it', () => {
    const progress = { tool_name: 'look', status: 'completed' };
    const data = { title: 'Look', ...progress, credentials: 'default', sign_in_needed: true };
    const events = [{ id: 1, event: 'tool_call' as const, data: JSON.stringify(data) }];
    const dataOf = (frames: Buffer) => JSON.parse(/^data: (.*)$/m.exec(frames.toString())?.[1] ?? '');
    expect(dataOf(encodeFrames(events, false))).toEqual(progress);
    expect(dataOf(encodeFrames(events, true))).toEqual(data);
  });

  it('writes a comment every 10 seconds, and none after the end', async () => {
    const { end, done, state } = writing();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(state.written).toEqual(['retry: 1000\n\n', ': still here\n\n', ': still here\n\n']);
    end();
    await done;
    await vi.advanceTimersByTimeAsync(25_000);
    expect(state.written).toHaveLength(3);
  });

  it('writes no comments while the reader has no room, and reports when the reader has room again', async () => {
    const { take, room, end, done, state } = writing();
    state.full = true;
    expect(take(event(1))).toBe(false);
    const waiting = room();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(state.written).toHaveLength(2);
    state.full = false;
    state.drained();
    await waiting;
    expect(take(event(2))).toBe(true);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(state.written).toHaveLength(4);
    end();
    await done;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(state.written).toHaveLength(4);
  });

  it('gives up on a reader that accepts nothing for 30 seconds', async () => {
    const { take, room, state } = writing();
    state.full = true;
    take(event(1));
    const dropped = expect(room()).rejects.toThrow('unavailable: The reader is too slow.');
    await vi.advanceTimersByTimeAsync(30_000);
    await dropped;
  });

  it('fails if its source fails, and then writes nothing more', async () => {
    const { signal } = new AbortController();
    const write = vi.fn(() => true);
    const out: ResponseStream = { signal, write, drained: async () => {} };
    const stream: OpenStream = { follow: () => Promise.reject(new Error('given up')) };
    await expect(writeEvents(stream, out, scope, false)).rejects.toThrow('given up');
    const count = write.mock.calls.length;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(write).toHaveBeenCalledTimes(count);
  });
});
