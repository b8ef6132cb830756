import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../src/channel/index.ts';
import { Feeds } from '../../../src/daemon/stream/feeds.ts';
import { collectLog } from '../../harness/log-lines.ts';

/** One stream in memory; `reads` counts how often it was read. */
function memory() {
  const events: StreamEvent[] = [];
  const listeners = new Set<(change: 'events' | 'stop') => void>();
  const state = { reads: 0, broken: false };
  return {
    state,
    listeners,
    add(event: StreamEvent['event']) {
      events.push({ id: events.length + 1, event, data: '{}' });
      for (const listener of listeners) listener('events');
    },
    async read(_stream_id: string, after: number): Promise<StreamEvent[]> {
      state.reads++;
      if (state.broken) throw new Error('the store is out of reach');
      return events.slice(after);
    },
    watch(_stream_id: string, listener: (change: 'events' | 'stop') => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function following(after = 0, signal = new AbortController().signal) {
  const store = memory();
  const { log, lines } = collectLog();
  const feeds = new Feeds(store, log);
  return { store, lines, feeds, reader: feeds.follow('s', after, signal) };
}

const ids = (events: readonly StreamEvent[] | undefined) => events?.map(({ id }) => id);

describe('a feed', () => {
  it('gives all there is at once, then what comes, and ends after the last event', async () => {
    const { store, reader, feeds } = following();
    store.add('stream_start');
    store.add('text_chunk');
    expect(ids((await reader.next()).value as StreamEvent[])).toEqual([1, 2]);
    const next = reader.next();
    store.add('stream_complete');
    expect(ids((await next).value as StreamEvent[])).toEqual([3]);
    expect((await reader.next()).done).toBe(true);
    expect([feeds.size, store.listeners.size]).toEqual([0, 0]);
  });

  it('begins after the event that a reader has', async () => {
    const { store, reader } = following(2);
    for (const event of ['stream_start', 'text_chunk', 'error'] as const) store.add(event);
    expect(ids((await reader.next()).value as StreamEvent[])).toEqual([3]);
    expect((await reader.next()).done).toBe(true);
  });

  it('reads each event once for all its readers, who get the same object', async () => {
    const { store, feeds, reader } = following();
    const other = feeds.follow('s', 0, new AbortController().signal);
    store.add('stream_start');
    const [one, two] = await Promise.all([reader.next(), other.next()]);
    expect((one.value as StreamEvent[])[0]).toBe((two.value as StreamEvent[])[0]);
    expect(store.state.reads).toBe(1);
    await Promise.all([reader.return(undefined), other.return(undefined)]);
    expect(feeds.size).toBe(0);
  });

  it('lets go of a reader whose signal aborts while it waits, and is freed with its last one', async () => {
    const leaving = new AbortController();
    const { store, feeds, reader } = following(0, leaving.signal);
    store.add('stream_start');
    await reader.next();
    const next = reader.next();
    leaving.abort();
    expect((await next).done).toBe(true);
    expect([feeds.size, store.listeners.size]).toEqual([0, 0]);
  });

  it('takes nothing for a reader that never begins to read', () => {
    const { feeds, store } = following();
    expect([feeds.size, store.listeners.size]).toEqual([0, 0]);
  });

  it('ends its readers where the run was given up, and where the store cannot be read', async () => {
    const given = following();
    const waiting = given.reader.next();
    given.feeds.giveUp('s');
    expect((await waiting).done).toBe(true);
    expect(given.feeds.size).toBe(0);

    const broken = following();
    broken.store.state.broken = true;
    expect((await broken.reader.next()).done).toBe(true);
    expect(broken.lines).toMatchObject([{ level: 'warn', msg: expect.stringMatching(/cannot be read/) }]);
    expect(broken.feeds.size).toBe(0);
  });
});
