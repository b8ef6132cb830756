import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../src/channel/index.ts';
import type { StreamRecord } from '../../../src/daemon/store/streams.ts';
import { EventWriter } from '../../../src/daemon/stream/event-writer.ts';
import type { StreamEventData } from '../../../src/daemon/stream/events.ts';
import { collectLog } from '../../support/log-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const ANSWER = { stream_id: 's', session_id: 't', response: 'all' };
const END: StreamEventData[] = [
  { event: 'complete', data: ANSWER },
  { event: 'stream_complete', data: ANSWER },
];
const CLAIM = { owner: 'me', stream_id: 's' };

/** A store in which the test decides when each append ends. */
function manualStore(gather_ms: number) {
  const appends: { events: readonly StreamEvent[]; done: () => void; fail: (error: Error) => void }[] = [];
  const store = {
    appends,
    gather_ms,
    /** The number of the last stored event, which `find` returns. */
    last_event: 0,
    find: async () => ({ last_event: store.last_event }) as StreamRecord,
    append(claim: typeof CLAIM, events: readonly StreamEvent[]): Promise<boolean> {
      expect(claim).toBe(CLAIM);
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      appends.push({ events, done: () => resolve(true), fail: reject });
      return promise;
    },
  };
  return store;
}

function writing(gather_ms = 0) {
  const store = manualStore(gather_ms);
  const clock = new VirtualClock(0);
  const { log, lines } = collectLog();
  const writer = new EventWriter({ streams: store, claim: CLAIM, clock, log });
  const text = (piece: string) => writer.write({ event: 'text_chunk', data: { text: piece } });
  const call = () => writer.write({ event: 'tool_call', data: { tool_name: 'look', status: 'started' } });
  return { store, clock, lines, writer, text, call };
}

const shown = (events: readonly StreamEvent[] = []) =>
  events.map(({ id, event, data }) => `${id} ${event} ${data}`.slice(0, 40));
const LAST = (first: number) => [
  expect.stringMatching(new RegExp(`^${first} complete `)),
  expect.stringMatching(new RegExp(`^${first + 1} stream_complete `)),
];

describe('an event writer', () => {
  it('merges the pieces of text of one tick, and numbers the events', async () => {
    const { store, text, call } = writing();
    text('a');
    await Promise.resolve();
    text('b');
    call();
    text('c');
    expect(store.appends).toEqual([]);
    await tick();
    expect(shown(store.appends[0]?.events)).toEqual([
      '1 text_chunk {"text":"ab"}',
      '2 tool_call {"tool_name":"look","status"',
      '3 text_chunk {"text":"c"}',
    ]);
  });

  it('merges the pieces of text that arrive during an append into the next append', async () => {
    const { store, text } = writing();
    text('a');
    await tick();
    text('b');
    await tick();
    text('c');
    expect(store.appends).toHaveLength(1);
    store.appends[0]?.done();
    await tick();
    expect(shown(store.appends[1]?.events)).toEqual(['2 text_chunk {"text":"bc"}']);
  });

  it('returns the events that are not stored yet together with the last events, and then writes nothing more', async () => {
    const { store, writer, text } = writing();
    text('a');
    await tick();
    text('b');
    const closing = writer.close(END);
    store.appends[0]?.done();
    const { claim, events } = await closing;
    expect(claim).toBe(CLAIM);
    expect(shown(events)).toEqual(['2 text_chunk {"text":"b"}', ...LAST(3)]);
    text('late');
    await tick();
    expect(store.appends).toHaveLength(1);
  });

  it('returns the same events again, with a different end, if their commit failed', async () => {
    const { writer, text } = writing();
    text('a');
    await writer.close(END);
    const { events } = await writer.close([
      { event: 'error', data: { code: 'unavailable', message: 'No.' } },
    ]);
    expect(shown(events)).toEqual(['1 text_chunk {"text":"a"}', '2 error {"code":"unavailable","message":']);
  });

  it('warns if events could not be stored, and stores them with the next events, under the same numbers', async () => {
    const { store, lines, writer, text } = writing();
    text('a');
    await tick();
    store.appends[0]?.fail(new Error('disk full'));
    await tick();
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringMatching(/could not be stored/) }]);
    text('b');
    await tick();
    expect(shown(store.appends[1]?.events)).toEqual(['1 text_chunk {"text":"ab"}']);
    store.appends[1]?.fail(new Error('disk full'));
    expect(shown((await writer.close(END)).events)).toEqual(['1 text_chunk {"text":"ab"}', ...LAST(2)]);
  });

  it('does not store events again if their append was reported as failed although they are stored', async () => {
    const { store, writer, text } = writing();
    text('a');
    await tick();
    store.last_event = 1;
    store.appends[0]?.fail(new Error('connection reset'));
    await tick();
    text('b');
    await tick();
    expect(shown(store.appends[1]?.events)).toEqual(['2 text_chunk {"text":"b"}']);
    store.last_event = 2;
    store.appends[1]?.fail(new Error('connection reset'));
    expect(shown((await writer.close(END)).events)).toEqual(LAST(3));
  });

  describe('on a store with expensive appends', () => {
    /** Lets the last append end. */
    const done = async (store: ReturnType<typeof manualStore>) => {
      store.appends.at(-1)?.done();
      await tick();
    };

    it('stores the first text at once, and later text once per interval', async () => {
      const { store, clock, text } = writing(100);
      text('a');
      await tick();
      expect(shown(store.appends[0]?.events)).toEqual(['1 text_chunk {"text":"a"}']);
      await done(store);
      text('b');
      await tick();
      clock.moveTo(99);
      text('c');
      await tick();
      expect(store.appends).toHaveLength(1);
      clock.moveTo(100);
      await tick();
      expect(shown(store.appends[1]?.events)).toEqual(['2 text_chunk {"text":"bc"}']);
      await done(store);
      clock.moveTo(300);
      text('d');
      await tick();
      expect(shown(store.appends[2]?.events)).toEqual(['3 text_chunk {"text":"d"}']);
    });

    it('stores the text that arrived during a slow append right after that append, if the interval has passed', async () => {
      const { store, clock, text } = writing(100);
      text('a');
      await tick();
      text('b');
      clock.moveTo(150);
      await tick();
      expect(store.appends).toHaveLength(1);
      await done(store);
      expect(shown(store.appends[1]?.events)).toEqual(['2 text_chunk {"text":"b"}']);
    });

    it('does not delay other events or the text before them', async () => {
      const { store, text, call } = writing(100);
      text('a');
      await tick();
      await done(store);
      text('b');
      call();
      await tick();
      expect(shown(store.appends[1]?.events)).toEqual([
        '2 text_chunk {"text":"b"}',
        '3 tool_call {"tool_name":"look","status"',
      ]);
    });

    it('returns waiting text together with the last events when it is closed', async () => {
      const { store, clock, writer, text } = writing(100);
      text('a');
      await tick();
      await done(store);
      text('b');
      expect(shown((await writer.close(END)).events)).toEqual(['2 text_chunk {"text":"b"}', ...LAST(3)]);
      clock.moveTo(200);
      await tick();
      expect(store.appends).toHaveLength(1);
    });
  });

  it('can itself store the last events of the stream', async () => {
    const { store, writer } = writing();
    const ending = writer.end(END);
    await tick();
    expect(shown(store.appends[0]?.events)).toEqual(LAST(1));
    store.appends[0]?.done();
    expect(await ending).toBe(true);
  });
});
