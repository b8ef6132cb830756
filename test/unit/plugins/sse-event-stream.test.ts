import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { frameOf, writeEvents } from '../../../plugins/sse/event-stream.ts';
import type { OpenStream, ResponseStream, StreamEvent } from '../../../src/channel/index.ts';

const scope = { problem: (code: string, detail: string) => new Error(`${code}: ${detail}`) };

function event(id: number): StreamEvent {
  return { id, event: 'text_chunk', data: `{"text":"${id}"}` };
}

/** A stream that the test feeds, and a response whose socket is full when the test says so. */
function writing() {
  const gone = new AbortController();
  let batches: (readonly StreamEvent[] | null)[] = [];
  let wake = () => {};
  const stream: OpenStream = {
    async *follow() {
      for (;;) {
        const batch = batches.shift();
        if (batch === null) return;
        if (batch) yield batch;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
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
    gone,
    state,
    done: writeEvents(stream, out, scope),
    push(...batch: (readonly StreamEvent[] | null)[]) {
      batches = [...batches, ...batch];
      wake();
    },
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('an event stream', () => {
  it('says once when to come back, then one frame an event', async () => {
    const { push, done, state } = writing();
    push([event(1), event(2)], [event(3)], null);
    await done;
    expect(state.written).toEqual([
      'retry: 1000\n\n',
      'id: 1\nevent: text_chunk\ndata: {"text":"1"}\n\n',
      'id: 2\nevent: text_chunk\ndata: {"text":"2"}\n\n',
      'id: 3\nevent: text_chunk\ndata: {"text":"3"}\n\n',
    ]);
  });

  it('builds a frame once for all readers', () => {
    const one = event(1);
    expect(frameOf(one)).toBe(frameOf(one));
  });

  it('writes a comment every 10 seconds, and none after the end', async () => {
    const { push, done, state } = writing();
    await vi.advanceTimersByTimeAsync(25_000);
    expect(state.written).toEqual(['retry: 1000\n\n', ': still here\n\n', ': still here\n\n']);
    push(null);
    await done;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('writes nothing, not even comments, while the reader has no room, and goes on when it has', async () => {
    const { push, done, state } = writing();
    state.full = true;
    push([event(1), event(2)], null);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(state.written).toHaveLength(2);
    state.full = false;
    state.drained();
    await vi.advanceTimersByTimeAsync(0);
    state.drained();
    await done;
    expect(state.written).toHaveLength(3);
  });

  it('drops a reader that takes nothing for 30 seconds', async () => {
    const { push, done, state } = writing();
    state.full = true;
    push([event(1), event(2)]);
    const dropped = expect(done).rejects.toThrow('unavailable: The reader is too slow.');
    await vi.advanceTimersByTimeAsync(30_000);
    await dropped;
    expect(vi.getTimerCount()).toBe(0);
  });
});
