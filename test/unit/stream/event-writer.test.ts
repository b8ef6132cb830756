import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../src/channel/index.ts';
import type { StreamRecord } from '../../../src/daemon/store/streams.ts';
import { EventWriter } from '../../../src/daemon/stream/event-writer.ts';
import { completed } from '../../../src/daemon/stream/events.ts';
import { collectLog } from '../../support/log-lines.ts';

const END = completed({ stream_id: 's', session_id: 't', response: 'all' }, null);
const CLAIM = { owner: 'me', stream_id: 's' };

/** A store whose appends end when the test says so. */
function manualStore() {
  const appends: { events: readonly StreamEvent[]; done: () => void; fail: (error: Error) => void }[] = [];
  const store = {
    appends,
    /** What `find` says. */
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

function writing() {
  const store = manualStore();
  const { log, lines } = collectLog();
  const writer = new EventWriter(store, CLAIM, log);
  const text = (piece: string) => writer.write({ event: 'text_chunk', data: { text: piece } });
  const call = () => writer.write({ event: 'tool_call', data: { tool_name: 'look', status: 'started' } });
  return { store, lines, writer, text, call };
}

const shown = (events: readonly StreamEvent[] = []) =>
  events.map(({ id, event, data }) => `${id} ${event} ${data}`.slice(0, 40));
const LAST = (first: number) => [
  expect.stringMatching(new RegExp(`^${first} complete `)),
  expect.stringMatching(new RegExp(`^${first + 1} stream_complete `)),
];

describe('an event writer', () => {
  it('merges the pieces of one tick, and numbers the events', async () => {
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

  it('merges the pieces that come while a commit is under way into the next one', async () => {
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

  it('hands over the events that are not stored yet with the last ones, and writes no more', async () => {
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

  it('hands the same events over again, with another end, if their commit failed', async () => {
    const { writer, text } = writing();
    text('a');
    await writer.close(END);
    const { events } = await writer.close([
      { event: 'error', data: { code: 'unavailable', message: 'No.' } },
    ]);
    expect(shown(events)).toEqual(['1 text_chunk {"text":"a"}', '2 error {"code":"unavailable","message":']);
  });

  it('tries events that could not be stored again with the next, under the same numbers, and logs it', async () => {
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

  it('goes on after events whose append failed though they are stored', async () => {
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

  it('can end the stream by itself', async () => {
    const { store, writer } = writing();
    const ending = writer.end(END);
    await tick();
    expect(shown(store.appends[0]?.events)).toEqual(LAST(1));
    store.appends[0]?.done();
    expect(await ending).toBe(true);
  });
});
