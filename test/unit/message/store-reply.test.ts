import { beforeEach, describe, expect, it } from 'vitest';
import type { Receipts } from '../../../src/channel/index.ts';
import { sendReply } from '../../../src/daemon/message/send-reply.ts';
import { storeReply } from '../../../src/daemon/message/store-reply.ts';
import type { AskedQuestion } from '../../../src/daemon/message/turn.ts';
import { CLAIM_MS, type KeyClaim } from '../../../src/daemon/store/claims/claims.ts';
import { anInboxMessage, aSession, aStream } from '../../contract/fixtures.ts';
import { aTurnOf, locked, named, person, runStep, type StepWorld, stepWorld } from '../../support/step.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

async function answered(members: object = {}) {
  const session = aSession(world.clock.now(), { session_id: 's', user_id: 'visitor' });
  return aTurnOf(world, {
    ...(await locked(world, named(null))),
    key: null as KeyClaim | null,
    session,
    session_origin: 'new' as const,
    principal: { person: null, reason: 'no_token' as const },
    changes: { session },
    reply: 'Hi.',
    stopped: false as boolean,
    history: { summary: null, turns: [], state: null, calls_bytes: 0 },
    run_record: { tainted: false },
    usage: null as { input_tokens: number; output_tokens: number } | null,
    asked: null as AskedQuestion | null,
    open: null,
    sign_in: null,
    receipts: null as Receipts | null,
    ...members,
  });
}
async function aKey(): Promise<KeyClaim> {
  const claimed = await world.store.idempotency.claim('k', 'body');
  if (claimed.outcome !== 'new') throw new Error('the key is taken');
  return claimed.claim;
}
const turns = () => world.store.sessions.turns('s');

describe('store-reply', () => {
  it('stores the session, the turn and the trace in one commit', async () => {
    const { turn } = await runStep(world, storeReply, await answered());
    expect(turn.record).toEqual((await turns())[0]);
    // The time of the session begins again.
    const expires_at = world.clock.now() + world.services.settings.SESSION_TTL_SECONDS * 1000;
    expect(await world.store.sessions.find('s')).toMatchObject({ turns: 1, expires_at });
    expect(await turns()).toMatchObject([
      {
        turn_id: 'turn-1',
        text: 'Hello',
        reply: 'Hi.',
        outcome: 'answered',
        failure: null,
        credentials: 'default',
        credentials_reason: 'no_token',
      },
    ]);
    const [trace] = await world.store.traces.find('turn-1');
    expect(trace).toMatchObject({ outcome: 'answered', session_id: 's' });
    expect(trace?.lines.map(({ step, reason }) => [step, reason])).toEqual([
      ['store-reply', undefined],
      ['send-reply', 'in_response'],
    ]);
  });

  it('stores the answer under its idempotency key, together with the person who may read it', async () => {
    const key = await aKey();
    await runStep(world, storeReply, await answered({ key, reader: person('ada') }));
    expect(await world.store.idempotency.look('k', 'body')).toEqual({
      outcome: 'done',
      answer: { turn_id: 'turn-1', session_id: 's', response: 'Hi.', reader: person('ada') },
    });
  });

  it('stores the data that the outlet requests, for example the last events of a stream', async () => {
    await world.store.streams.create(aStream({ stream_id: 'stream' }));
    const claim = await world.store.streams.claim('stream', { owner: null, reader: null });
    if (!claim) throw new Error('no claim');
    const turn = await answered();
    const last = { id: 1, event: 'stream_complete', data: '{}' } as const;
    turn.outlet.wanted = (end) => {
      expect(end).toMatchObject({ answered: true, reply: { response: 'Hi.', session_id: 's' } });
      return { events: { claim, events: [last] } };
    };
    await runStep(world, storeReply, turn);
    expect(await world.store.streams.read('stream', 0)).toEqual([last]);
  });

  it('stores the reply for the inbox, which sends it', async () => {
    await world.store.inbox.enqueue([anInboxMessage({ session_id: 's' })]);
    const [claim] = await world.store.inbox.claim('run', ['chat'], 1);
    if (!claim) throw new Error('no claim');
    const turn = await answered();
    turn.outlet.wanted = () => ({ reply: { claim, text: 'Hi.' } });
    await runStep(world, storeReply, turn);
    expect(await world.store.inbox.find(claim.message.id)).toMatchObject({ state: 'replied', reply: 'Hi.' });
  });

  it('stores nothing if any of the claims is lost', async () => {
    const key = await aKey();
    const turn = await answered({ key });
    await world.store.idempotency.release(key);
    await expect(runStep(world, storeReply, turn)).rejects.toMatchObject({ name: 'ClaimLost' });
    expect([await world.store.sessions.find('s'), await turns()]).toEqual([null, []]);
    expect(turn.trace.lines.at(-1)).toMatchObject({ verdict: 'failed', reason: 'claim_lost' });
    expect(turn.outlet.told).toEqual([]);
  });

  it('stores nothing after another daemon has claimed the session', async () => {
    const turn = await answered();
    world.clock.moveTo(world.clock.now() + CLAIM_MS);
    expect(await world.peer.sessions.claim('s')).not.toBeNull();
    await expect(runStep(world, storeReply, turn)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await turns()).toEqual([]);
  });

  it('stores the answer and the trace, but no turn, if an administrator has ended the session in the meantime', async () => {
    const key = await aKey();
    const { line } = await runStep(
      world,
      storeReply,
      await answered({ key, changes: {}, session_origin: 'found' }),
    );
    expect(line.reason).toBe('session_ended_meanwhile');
    expect(await turns()).toEqual([]);
    expect(await world.store.traces.find('turn-1')).toHaveLength(1);
    expect(await world.store.idempotency.look('k', 'body')).toMatchObject({ outcome: 'done' });
  });

  it('stores where the lines about writes are, which end where the question begins', async () => {
    const receipts = { actions: [], begins_at: 4 };
    await runStep(world, storeReply, await answered({ reply: 'Hi. Lines.', receipts }));
    expect(await turns()).toMatchObject([{ receipt_lines: { begins_at: 4, ends_at: 10 } }]);
  });

  it('marks a turn that the person stopped', async () => {
    await runStep(world, storeReply, await answered({ reply: '', stopped: true }));
    expect(await turns()).toMatchObject([{ reply: '', stopped: true, outcome: 'answered' }]);
  });
});

describe('send-reply', () => {
  it('tells the outlet that the reply may be sent', async () => {
    const { turn: stored } = await runStep(world, storeReply, await answered());
    const { turn, line } = await runStep(world, sendReply, stored);
    expect(turn.outlet.told).toEqual(['complete s Hi.']);
    expect(line).toMatchObject({ step: 'send-reply', verdict: 'ok' });
  });
});
