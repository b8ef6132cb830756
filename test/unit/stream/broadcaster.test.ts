import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StreamEvent, StreamReader } from '../../../src/channel/index.ts';
import type { StreamListener } from '../../../src/daemon/store/streams.ts';
import { Broadcaster } from '../../../src/daemon/stream/broadcaster.ts';
import { collectLog } from '../../support/log-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** One stream in memory. `reads` counts how often it was read. */
function memory() {
  const events: StreamEvent[] = [];
  const listeners = new Set<StreamListener>();
  const state = { reads: 0, broken: false, erased: false };
  return {
    state,
    listeners,
    /** Adds an event without a hint, as if the hint of another daemon were lost. */
    addUnheard(event: StreamEvent['event']) {
      events.push({ id: events.length + 1, event, data: '{}' });
    },
    /** @param told whether the notification of the store contains the added events */
    add(names: readonly StreamEvent['event'][], told = false) {
      const added = names.map((event, index) => ({ id: events.length + 1 + index, event, data: '{}' }));
      events.push(...added);
      for (const listener of listeners) listener('events', ...(told ? [added] : []));
    },
    async read(_stream_id: string, after: number): Promise<StreamEvent[] | null> {
      state.reads++;
      if (state.broken) throw new Error('the store is unreachable');
      return state.erased ? null : events.slice(after);
    },
    subscribe(_stream_id: string, listener: StreamListener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A reader that has room until the test sets `full`. */
class Listener implements StreamReader {
  readonly #leaving = new AbortController();
  readonly signal = this.#leaving.signal;
  /** The events that the reader got, one list for each call. */
  readonly told: (readonly StreamEvent[])[] = [];
  full = false;
  /** Ends the wait for room. */
  waiting = Promise.withResolvers<void>();

  take(events: readonly StreamEvent[]): boolean {
    this.told.push(events);
    return !this.full;
  }

  room(): Promise<void> {
    return this.waiting.promise;
  }

  leave(): void {
    this.#leaving.abort();
  }

  get ids(): number[][] {
    return this.told.map((events) => events.map(({ id }) => id));
  }
}

function following() {
  const store = memory();
  const { log, lines } = collectLog();
  const clock = new VirtualClock(0);
  const broadcaster = new Broadcaster({ streams: store, clock, log });
  const follow = (after = 0) => {
    const reader = new Listener();
    return { reader, end: broadcaster.follow('s', after, reader) };
  };
  return { store, lines, clock, broadcaster, follow };
}

describe('a stream with readers', () => {
  it('sends all existing events at once, then new events, and ends after the last event', async () => {
    const { store, broadcaster, follow } = following();
    store.add(['stream_start', 'text_chunk']);
    const { reader, end } = follow();
    await turn();
    expect(reader.ids).toEqual([[1, 2]]);
    store.add(['complete']);
    await turn();
    store.add(['stream_complete']);
    await end;
    expect(reader.ids).toEqual([[1, 2], [3], [4]]);
    expect([broadcaster.size, store.listeners.size]).toEqual([0, 0]);
  });

  it('starts after the last event that a reader has', async () => {
    const { store, follow } = following();
    store.add(['stream_start', 'text_chunk', 'error']);
    const { reader, end } = follow(2);
    await end;
    expect(reader.ids).toEqual([[3]]);
  });

  it('ends at once for a reader that has the last event', async () => {
    const { store, broadcaster, follow } = following();
    store.add(['stream_start', 'error']);
    const { reader, end } = follow(2);
    await end;
    expect(reader.told).toEqual([]);
    expect(broadcaster.size).toBe(0);
  });

  it('reads each event once for all its readers, and gives them all the same list', async () => {
    const { store, broadcaster, follow } = following();
    store.add(['stream_start']);
    const { reader: one } = follow();
    const { reader: other } = follow();
    await turn();
    store.add(['text_chunk']);
    await turn();
    expect(one.ids).toEqual([[1], [2]]);
    expect(one.told).toEqual(other.told);
    expect(one.told[1]).toBe(other.told[1]);
    const { reader: late } = follow();
    expect(late.ids).toEqual([[1, 2]]);
    expect(store.state.reads).toBe(2);
    for (const reader of [one, other, late]) reader.leave();
    expect(broadcaster.size).toBe(0);
  });

  it('reads only the events that the notifications of the store do not contain', async () => {
    const { store, follow } = following();
    const { reader } = follow();
    await turn();
    store.add(['stream_start'], true);
    store.add(['text_chunk'], true);
    expect(reader.ids).toEqual([[1], [2]]);
    expect(store.state.reads).toBe(1);
    store.add(['text_chunk']);
    // This notification contains its event, and arrives while the previous event is being read. Both are sent once.
    store.add(['text_chunk'], true);
    await turn();
    expect(reader.ids.flat()).toEqual([1, 2, 3, 4]);
  });

  it('sends nothing more to a reader without room, and continues where it stopped when the reader has room', async () => {
    const { store, follow } = following();
    const [{ reader: slow }, { reader: quick }] = [follow(), follow()];
    slow.full = true;
    await turn();
    for (let count = 0; count < 3; count++) store.add(['text_chunk'], true);
    expect([slow.ids, quick.ids]).toEqual([[[1]], [[1], [2], [3]]]);
    slow.full = false;
    slow.waiting.resolve();
    await turn();
    expect(slow.ids).toEqual([[1], [2, 3]]);
  });

  it('sends many events in limited batches', async () => {
    const { store, follow } = following();
    const [{ reader: first }, { reader: slow }] = [follow(), follow()];
    slow.full = true;
    await turn();
    store.add(['text_chunk'], true);
    for (let count = 0; count < 249; count++) store.add(['text_chunk'], true);
    slow.full = false;
    slow.waiting.resolve();
    await turn();
    expect(slow.told.map(({ length }) => length)).toEqual([1, 100, 100, 49]);
    expect(slow.ids.flat()).toEqual(first.ids.flat());
  });

  it('ends with an error only for the reader that is too slow', async () => {
    const { store, broadcaster, follow } = following();
    const [{ reader: slow, end }, { reader: quick }] = [follow(), follow()];
    slow.full = true;
    await turn();
    store.add(['stream_start'], true);
    slow.waiting.reject(new Error('too slow'));
    await expect(end).rejects.toThrow('too slow');
    store.add(['text_chunk'], true);
    expect([slow.ids, quick.ids]).toEqual([[[1]], [[1], [2]]]);
    quick.leave();
    expect(broadcaster.size).toBe(0);
  });

  it('ends with an error only for the reader that throws', async () => {
    const { store, follow } = following();
    const [{ reader: broken, end }, { reader: whole }] = [follow(), follow()];
    broken.take = () => {
      throw new Error('no such frame');
    };
    await turn();
    store.add(['stream_start'], true);
    await expect(end).rejects.toThrow('no such frame');
    expect(whole.ids).toEqual([[1]]);
  });

  it('drops a reader that disconnects, even a reader without room, and is freed when its last reader disconnects', async () => {
    const { store, broadcaster, follow } = following();
    const [{ reader: one, end }, { reader: full, end: fullEnd }] = [follow(), follow()];
    full.full = true;
    store.add(['stream_start']);
    await turn();
    one.leave();
    await end;
    expect(broadcaster.size).toBe(1);
    full.leave();
    await fullEnd;
    expect([broadcaster.size, store.listeners.size]).toEqual([0, 0]);
    full.waiting.resolve();
    await turn();
    expect(full.ids).toEqual([[1]]);
  });

  it('uses no memory for a reader that has disconnected', async () => {
    const { broadcaster, store } = following();
    const reader = new Listener();
    reader.leave();
    await broadcaster.follow('s', 0, reader);
    expect([broadcaster.size, store.listeners.size]).toEqual([0, 0]);
  });

  it('ends its readers if the store cannot be read', async () => {
    const { store, lines, broadcaster, follow } = following();
    store.state.broken = true;
    await follow().end;
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringMatching(/cannot be read/) }]);
    expect(broadcaster.size).toBe(0);
  });

  it('ends for its readers within a second after it was erased, even for a reader without room', async () => {
    const { store, clock, broadcaster, follow } = following();
    store.add(['stream_start', 'text_chunk']);
    const [reading, waiting] = [follow(), follow(2)];
    reading.reader.full = true;
    await turn();
    store.state.erased = true;
    clock.moveTo(clock.now() + 1000);
    await Promise.all([reading.end, waiting.end]);
    expect([broadcaster.size, store.listeners.size]).toEqual([0, 0]);
  });

  it('is read once a second while it has readers, because hints may be lost', async () => {
    const { store, clock, follow } = following();
    const { reader, end } = follow();
    await turn();
    store.addUnheard('stream_start');
    clock.moveTo(clock.now() + 999);
    await turn();
    expect(reader.ids).toEqual([]);
    clock.moveTo(clock.now() + 1);
    await turn();
    expect(reader.ids).toEqual([[1]]);
    store.addUnheard('error');
    clock.moveTo(clock.now() + 1000);
    await end;
    expect(reader.ids).toEqual([[1], [2]]);
    const { reads } = store.state;
    clock.moveTo(clock.now() + 10_000);
    await turn();
    expect(store.state.reads).toBe(reads);
  });
});
