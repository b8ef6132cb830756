import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import { runTurn } from '../../../src/daemon/message/run-turn.ts';
import { answerNow } from '../../../src/daemon/message/steps.ts';
import { buildTrace } from '../../../src/daemon/message/turn-trace.ts';
import { withTurn } from '../../../src/daemon/message/with-turn.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims/claims.ts';
import { aSession, aStream } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import {
  aMessage,
  aTurnOf,
  ON_PLATFORM,
  personVerdict,
  type StepWorld,
  stepWorld,
} from '../../support/step.ts';

let world: StepWorld;
/** The behavior of the runtime before it answers. */
let before: () => Promise<void>;

beforeEach(async () => {
  before = async () => {};
  const agent: AgentRuntime = {
    apiVersion: 1,
    async *run() {
      await before();
      yield 'Hi.';
    },
  };
  world = await stepWorld({ agent });
});

const withKey = { message: aMessage({ message_id: 'k' }) };
const run = (turn = aTurnOf(world)) => runTurn(answerNow, turn, world.services);
const turns = () => world.store.sessions.turns('s');
const traces = () => world.store.traces.find('request-1');
const fails = () => Promise.reject(new Error('a defect'));

describe('a turn', () => {
  it('with an answer is stored before its reply is sent, and then releases everything', async () => {
    const turn = aTurnOf(world, withKey);
    const stored: number[] = [];
    turn.outlet.complete = async () => void stored.push((await turns()).length);
    expect(await run(turn)).toMatchObject({ answered: true, reply: { response: 'Hi.', replayed: false } });
    expect([stored, turn.outlet.told]).toEqual([[1], ['started s', 'text Hi.']]);
    expect([world.services.claims.size, world.services.sessions.size]).toEqual([0, 0]);
    expect((await traces())[0]?.lines.map(({ step }) => step)).toEqual([
      'identify',
      'deduplicate',
      'authorize-sender',
      'guard',
      'lock-session',
      'open-session',
      'resolve-principal',
      'choose-agent',
      'settle-pending',
      'run-agent',
      'store-reply',
      'send-reply',
    ]);
  });

  it('of a repeated message ends with the first answer, and is not stored again', async () => {
    await run(aTurnOf(world, { ...withKey, turn_id: 'first' }));
    const again = aTurnOf(world, withKey);
    const reply = { turn_id: 'first', response: 'Hi.', replayed: true };
    expect(await run(again)).toMatchObject({ answered: true, reply });
    expect(again.outlet.told).toEqual(['started s', 'complete s Hi. (replayed)']);
    expect(await turns()).toHaveLength(1);
    expect((await traces()).map(({ outcome }) => outcome)).toEqual(['answered', 'replayed']);
  });

  it('that fails is stored in one commit with its session, and its idempotency key can be used again', async () => {
    before = fails;
    const ended = await run(aTurnOf(world, withKey));
    expect(ended).toMatchObject({ answered: false, isStored: true, error: { code: 'agent_failed' } });
    expect(await turns()).toMatchObject([{ outcome: 'failed', failure: 'agent_failed', reply: null }]);
    expect(await traces()).toMatchObject([{ outcome: 'agent_failed', session_id: 's' }]);
    before = async () => {};
    expect(await run(aTurnOf(world, withKey))).toMatchObject({ answered: true });
  });

  it('that fails also stores the data that its outlet requests, for example the error event of a stream', async () => {
    await world.store.streams.create(aStream({ stream_id: 'stream' }));
    const claim = await world.store.streams.claim('stream', { owner: null, reader: null });
    if (!claim) throw new Error('no claim');
    const event = { id: 1, event: 'error', data: '{}' } as const;
    before = fails;
    const turn = aTurnOf(world);
    turn.outlet.wanted = () => ({ events: { claim, events: [event] } });
    await run(turn);
    expect(await world.store.streams.read('stream', 0)).toEqual([event]);
  });

  it('that fails and will run again stores only its trace', async () => {
    before = fails;
    const turn = aTurnOf(world);
    turn.outlet.wanted = () => ({ runs_again: true });
    expect(await run(turn)).toMatchObject({ answered: false, isStored: false });
    expect([await turns(), (await traces()).length]).toEqual([[], 1]);
  });

  it('that is refused stores a trace that cannot be found under the session, which belongs to somebody else', async () => {
    await saveSession(world.store, aSession(world.clock.now(), { session_id: 's', user_id: 'somebody' }));
    const ended = await run();
    expect(ended).toMatchObject({ answered: false, error: { code: 'session_forbidden' } });
    expect(await traces()).toMatchObject([{ outcome: 'session_forbidden', session_id: null }]);
    expect(await world.store.traces.find('s')).toEqual([]);
  });

  it('whose session another daemon has claimed does not complete its reply and is not stored', async () => {
    before = async () => {
      world.clock.moveTo(world.clock.now() + CLAIM_MS);
      if ((await world.peer.sessions.claim('s')) === null) {
        // The claim was just renewed, so let it expire.
        world.services.claims.stop();
        world.clock.moveTo(world.clock.now() + CLAIM_MS);
        expect(await world.peer.sessions.claim('s')).not.toBeNull();
      }
    };
    const turn = aTurnOf(world, withKey);
    expect(await run(turn)).toMatchObject({ answered: false, isStored: false, error: { name: 'ClaimLost' } });
    expect(turn.outlet.told).toEqual(['started s', 'text Hi.']);
    expect([await turns(), await world.store.sessions.find('s')]).toEqual([[], null]);
    expect(await traces()).toMatchObject([{ outcome: 'unavailable' }]);
    expect((await traces())[0]?.lines.at(-1)).toMatchObject({ step: 'store-reply', reason: 'claim_lost' });
  });

  it('that has lost any of its claims is not stored as failed either', async () => {
    const commits: string[] = [];
    world.services.store.commitTurn = async (_claim, { turn }) => {
      commits.push(turn?.record.outcome ?? 'none');
      return 'lost';
    };
    expect(await run()).toMatchObject({ answered: false, isStored: false, error: { name: 'ClaimLost' } });
    expect(commits).toEqual(['answered']);
  });

  it('releases the other resources if one cannot be released, and logs the failure', async () => {
    const failing = () => Promise.reject(new Error('disk'));
    Object.assign(world.services.store, { commitTurn: failing });
    world.services.store.sessions.release = failing;
    const turn = aTurnOf(world, withKey);
    expect(await run(turn)).toMatchObject({ answered: false });
    expect(
      world.lines.filter(({ msg }) => msg === 'a resource of the turn could not be released'),
    ).toHaveLength(1);
    expect([world.services.claims.size, world.services.sessions.size]).toEqual([0, 0]);
  });

  it('releases its resources in reverse order', async () => {
    const released: string[] = [];
    await withTurn(aTurnOf(world), world.services, async (turn) => {
      for (const name of ['first', 'last']) turn.defer(async () => void released.push(name));
    });
    expect(released).toEqual(['last', 'first']);
  });
});

describe('the trace of a turn', () => {
  it.each([
    ['that was answered', 'answered', 's'],
    ['that was refused', 'session_forbidden', null],
  ])(
    '%s on a platform has a session id only if the message became part of the session: %s',
    (_case, outcome, session_id) => {
      expect(buildTrace(aTurnOf(world, ON_PLATFORM), outcome, 0).session_id).toBe(session_id);
    },
  );

  it('has the person of a valid token, even if the message was refused before the step `identify`', () => {
    const verdict = personVerdict('ada');
    const validated = { token: 'token-of-ada', verdict };
    expect(buildTrace(aTurnOf(world, { validated }), 'loop_guard_blocked', 0).person).toBe(verdict.person);
    expect(buildTrace(aTurnOf(world), 'loop_guard_blocked', 0)).not.toHaveProperty('person');
  });
});
