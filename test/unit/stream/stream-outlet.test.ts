import { beforeEach, describe, expect, it } from 'vitest';
import { AgentdError } from '../../../src/daemon/errors.ts';
import type { CompleteReply } from '../../../src/daemon/message/outlet.ts';
import type { StreamClaim } from '../../../src/daemon/store/claims/claims.ts';
import { EventWriter } from '../../../src/daemon/stream/event-writer.ts';
import { numberEvent, started } from '../../../src/daemon/stream/events.ts';
import { StopRequest } from '../../../src/daemon/stream/stop-stream.ts';
import { StreamOutlet } from '../../../src/daemon/stream/stream-outlet.ts';
import { aStream } from '../../contract/fixtures.ts';
import { type StepWorld, stepWorld } from '../../support/step.ts';

let world: StepWorld;
let claim: StreamClaim;
let outlet: StreamOutlet;

beforeEach(async () => {
  world = await stepWorld();
  const { streams } = world.store;
  await streams.create(aStream({ stream_id: 'stream' }));
  claim = (await streams.claim('stream', { owner: null, reader: null })) as StreamClaim;
  outlet = new StreamOutlet({
    writer: new EventWriter({ streams, claim, clock: world.clock, log: world.services.log }),
    stream_id: 'stream',
    turn_id: 'turn',
    session_id: 'at first',
    stopping: world.stopping.signal,
  });
});

const tick = () => new Promise(setImmediate);
const events = async () =>
  ((await world.peer.streams.read('stream', 0)) ?? []).map(({ id, event, data }) => {
    const { text, response, stopped, code } = JSON.parse(data);
    return [id, event, text ?? response ?? code, stopped].filter((part) => part !== undefined).join(' ');
  });
const reply = (members: Partial<CompleteReply> = {}): CompleteReply => ({
  turn_id: 'turn',
  session_id: 's',
  response: 'Hi.',
  question: null,
  receipts: null,
  stopped: false,
  replayed: false,
  ...members,
});
/** Stores the events, as the commit of the turn does. */
async function commit(changes: Awaited<ReturnType<StreamOutlet['close']>>): Promise<void> {
  if (changes.events) await world.store.streams.append(changes.events.claim, changes.events.events);
}

describe('the outlet of a stream', () => {
  it('stores the end of the reply in one commit with the question that clients show instead of it', async () => {
    const confirmation = { id: 'q', summary: 'Cancel', expires_at: '', begins_at: 5, actions: [] };
    outlet.started('s');
    outlet.text('Fine.');
    await tick();
    expect(await events()).toEqual(['1 stream_start', '2 text_chunk Fine.']);
    const response = 'Fine.\n\nCancel?';
    const question = { confirmation, stored: null };
    await commit(await outlet.close({ answered: true, reply: reply({ response, question }) }));
    expect((await events()).slice(2)).toEqual([
      '3 confirmation',
      '4 text_chunk \n\nCancel?',
      `5 complete ${response}`,
      `6 stream_complete ${response}`,
    ]);
  });

  it('continues after the first event, which was stored with the claim, and does not store that event again', async () => {
    const { streams } = world.store;
    const first = numberEvent(started({ stream_id: 'begun', session_id: 's' }), 1);
    await streams.create(aStream({ stream_id: 'begun' }));
    const held = (await streams.claim('begun', { owner: null, reader: null }, [first])) as StreamClaim;
    const begun = new StreamOutlet({
      writer: new EventWriter({
        streams,
        claim: held,
        begun: 1,
        clock: world.clock,
        log: world.services.log,
      }),
      stream_id: 'begun',
      turn_id: 'turn',
      session_id: 's',
      hasStarted: true,
      stopping: world.stopping.signal,
    });
    begun.started('s');
    begun.text('Hi.');
    await tick();
    await commit(await begun.close({ answered: true, reply: reply() }));
    const stored = await world.peer.streams.read('begun', 0);
    expect(stored?.map(({ id, event }) => `${id} ${event}`)).toEqual([
      '1 stream_start',
      '2 text_chunk',
      '3 complete',
      '4 stream_complete',
    ]);
  });

  it('stores text and tool progress during the run, and the last events with the commit', async () => {
    outlet.started('s');
    outlet.text('Hi');
    outlet.progress({ tool_name: 'look', status: 'started' });
    await tick();
    expect(await events()).toEqual(['1 stream_start', '2 text_chunk Hi', '3 tool_call']);
    outlet.text('.');
    const changes = await outlet.close({ answered: true, reply: reply() });
    expect(await events()).toHaveLength(3);
    await commit(changes);
    expect((await events()).slice(3)).toEqual(['4 text_chunk .', '5 complete Hi.', '6 stream_complete Hi.']);
    const last = await world.peer.streams.read('stream', 4);
    for (const { data } of last ?? [])
      expect(JSON.parse(data)).toMatchObject({ metadata: { message_id: 'turn' } });
  });

  it('ends the stream of a failed turn with an error, without internal details', async () => {
    outlet.started('s');
    await commit(await outlet.close({ answered: false, error: new TypeError('secret') }));
    expect(await events()).toEqual(['1 stream_start', '2 error internal_error']);
    expect(JSON.stringify(await world.peer.streams.read('stream', 0))).not.toContain('secret');
  });

  it('reports the code of a failure, or that a stopping daemon interrupted the run', async () => {
    const failed = await outlet.close({
      answered: false,
      error: new AgentdError('agent_timeout', 'Slow.'),
    });
    expect(failed.events?.events.map(({ data }) => JSON.parse(data))).toEqual([
      { code: 'agent_timeout', message: 'Slow.' },
    ]);
    world.stopping.abort();
    const interrupted = await outlet.close({ answered: false, error: new Error('aborted') });
    expect(JSON.parse(interrupted.events?.events[0]?.data ?? '')).toMatchObject({ code: 'interrupted' });
  });

  it('sends an earlier answer again in one piece', async () => {
    outlet.started('s');
    await commit(await outlet.close({ answered: true, reply: reply({ replayed: true }) }));
    expect(await events()).toEqual([
      '1 stream_start',
      '2 text_chunk Hi.',
      '3 complete Hi.',
      '4 stream_complete Hi.',
    ]);
  });
});

describe('a stream that is stopped', () => {
  it('ends at once if it has no text yet, and its turn adds nothing', async () => {
    expect(await outlet.stop()).toBe(true);
    const ended = ['1 stream_start', '2 complete  true', '3 stream_complete  true'];
    expect(await events()).toEqual(ended);
    outlet.text('late');
    expect(await outlet.close({ answered: true, reply: reply({ response: '', stopped: true }) })).toEqual({});
    await tick();
    expect(await events()).toEqual(ended);
  });

  it('ends together with its turn once it has text', async () => {
    outlet.started('s');
    outlet.text('So far');
    expect(await outlet.stop()).toBe(false);
    await commit(await outlet.close({ answered: true, reply: reply({ response: 'So far', stopped: true }) }));
    expect((await events()).slice(-2)).toEqual(['3 complete So far true', '4 stream_complete So far true']);
  });

  it('is not ended a second time while its turn ends', async () => {
    const changes = await outlet.close({ answered: false, error: new Error('no') });
    expect(await outlet.stop()).toBe(false);
    await commit(changes);
    expect(await events()).toEqual(['1 error internal_error']);
  });

  it('ends together with its turn if it could not be ended at once', async () => {
    const { append } = world.store.streams;
    world.store.streams.append = () => Promise.reject(new Error('disk'));
    await expect(outlet.stop()).rejects.toThrow('disk');
    world.store.streams.append = append;
    await commit(await outlet.close({ answered: true, reply: reply({ response: '', stopped: true }) }));
    expect((await events()).at(-1)).toMatch(/stream_complete {2}true$/);
  });
});

describe('a request to stop', () => {
  it('is noticed through the hint of the store', async () => {
    const stop = new StopRequest(world.services, 'stream');
    expect(stop.requested.hasEnded).toBe(false);
    await world.store.streams.requestStop('stream');
    await tick();
    expect(stop.requested.hasEnded).toBe(true);
    stop.close();
  });

  it('is noticed within a second if the hint is lost', async () => {
    world.services.store.streams.subscribe = () => () => {};
    const stop = new StopRequest(world.services, 'stream');
    await world.peer.streams.requestStop('stream');
    await tick();
    expect(stop.requested.hasEnded).toBe(false);
    world.clock.moveTo(world.clock.now() + 1000);
    await tick();
    expect(stop.requested.hasEnded).toBe(true);
    stop.close();
  });

  it('is no longer noticed after its StopRequest is closed, even if the last lookup failed', async () => {
    const { find } = world.store.streams;
    world.services.store.streams.find = () => Promise.reject(new Error('disk'));
    const stop = new StopRequest(world.services, 'stream');
    await world.peer.streams.requestStop('stream');
    await tick();
    expect(world.lines).toMatchObject([{ level: 'warn' }]);
    world.services.store.streams.find = find;
    stop.close();
    world.clock.moveTo(world.clock.now() + 5000);
    await tick();
    expect(stop.requested.hasEnded).toBe(false);
  });

  it.each([
    ['after a call of a tool', () => outlet.progress({ tool_name: 'pay', status: 'started' })],
    ['while confirmed actions are carried out', () => outlet.mustReport()],
  ])('does not end at once if it is stopped %s, because its reply may have to report it', async (_, acts) => {
    outlet.started('s');
    acts();
    expect(await outlet.stop()).toBe(false);
    const receipts = { actions: [] };
    await commit(
      await outlet.close({ answered: true, reply: reply({ response: '', stopped: true, receipts }) }),
    );
    const names = (await events()).map((event) => event.split(' ')[1]);
    expect(names.slice(-3)).toEqual(['actions', 'complete', 'stream_complete']);
  });
});
