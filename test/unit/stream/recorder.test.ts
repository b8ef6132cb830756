import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../src/channel/index.ts';
import { completed } from '../../../src/daemon/stream/events.ts';
import { Recorder } from '../../../src/daemon/stream/recorder.ts';
import { collectLog } from '../../support/log-lines.ts';

const END = completed({ stream_id: 's', session_id: 't', response: 'all' });

/** A store whose appends end when the test says so. */
function manualStore() {
  const appends: { events: readonly StreamEvent[]; done: () => void; fail: (error: Error) => void }[] = [];
  const stored: StreamEvent[] = [];
  return {
    appends,
    stored,
    append(_stream_id: string, events: readonly StreamEvent[]): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const done = () => {
        stored.push(...events);
        resolve();
      };
      appends.push({ events, done, fail: reject });
      return promise;
    },
  };
}

function recording() {
  const store = manualStore();
  const { log, lines } = collectLog();
  const recorder = new Recorder(store, 's', log);
  const say = (text: string) => recorder.say({ event: 'text_chunk', data: { text } });
  const call = () => recorder.say({ event: 'tool_call', data: { tool_name: 'look', status: 'started' } });
  return { store, lines, recorder, say, call };
}

const told = (events: readonly StreamEvent[]) =>
  events.map(({ id, event, data }) => `${id} ${event} ${data}`);

describe('a recorder', () => {
  it('merges what is said in one turn of the event loop, and numbers it on', async () => {
    const { store, say, call } = recording();
    say('a');
    await Promise.resolve();
    say('b');
    call();
    say('c');
    expect(store.appends).toEqual([]);
    await turn();
    expect(told(store.appends[0]?.events ?? [])).toEqual([
      '1 text_chunk {"text":"ab"}',
      '2 tool_call {"tool_name":"look","status":"started"}',
      '3 text_chunk {"text":"c"}',
    ]);
  });

  it('merges what is said while a commit is under way into the next one', async () => {
    const { store, recorder, say } = recording();
    say('a');
    await turn();
    say('b');
    await turn();
    say('c');
    expect(store.appends).toHaveLength(1);
    const settled = recorder.settled();
    store.appends[0]?.done();
    await turn();
    expect(told(store.appends[1]?.events ?? [])).toEqual(['2 text_chunk {"text":"bc"}']);
    store.appends[1]?.done();
    await settled;
  });

  it('ends in the turn of the event loop in which it is told to, once all is settled', async () => {
    const { store, recorder, say } = recording();
    say('a');
    const settled = recorder.settled();
    store.appends[0]?.done();
    await settled;
    const ending = recorder.end(END);
    expect(told(store.appends[1]?.events ?? []).map((line) => line.slice(0, 17))).toEqual([
      '2 complete {"stre',
      '3 stream_complete',
    ]);
    expect(recorder.ended).toBe(false);
    store.appends[1]?.done();
    await ending;
    expect(recorder.ended).toBe(true);
  });

  it('ends once, whoever comes second, and says nothing after it', async () => {
    const { store, recorder, say } = recording();
    const endings = [recorder.end(END), recorder.end(END)];
    store.appends[0]?.done();
    await Promise.all(endings);
    say('late');
    await turn();
    await recorder.settled();
    expect(store.appends).toHaveLength(1);
  });

  it('tries again with the next what could not be stored, under the same numbers, and tells the log', async () => {
    const { store, lines, recorder, say } = recording();
    say('a');
    await turn();
    store.appends[0]?.fail(new Error('disk full'));
    await turn();
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringMatching(/could not be stored/) }]);
    say('b');
    await turn();
    expect(told(store.appends[1]?.events ?? [])).toEqual(['1 text_chunk {"text":"ab"}']);
    store.appends[1]?.done();
    await recorder.settled();
  });

  it('rejects an end that cannot be stored, and can end otherwise then', async () => {
    const { store, recorder, say } = recording();
    say('a');
    const ending = recorder.end(END);
    store.appends[0]?.fail(new Error('disk full'));
    await expect(ending).rejects.toThrow('disk full');
    const failing = recorder.end([{ event: 'error', data: { code: 'unavailable', message: 'No.' } }]);
    expect(told(store.appends[1]?.events ?? [])).toEqual([
      '1 text_chunk {"text":"a"}',
      '2 error {"code":"unavailable","message":"No."}',
    ]);
    store.appends[1]?.done();
    await failing;
    expect(recorder.ended).toBe(true);
  });
});
