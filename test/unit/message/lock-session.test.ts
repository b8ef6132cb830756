import { beforeEach, describe, expect, it } from 'vitest';
import { turnKey } from '../../../src/daemon/message/keys.ts';
import { lockSession } from '../../../src/daemon/message/lock-session.ts';
import { generateSessionId } from '../../../src/daemon/session/session.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims/claims.ts';
import { ClaimLost } from '../../../src/daemon/store/failures.ts';
import { Tickets } from '../../../src/daemon/time/tickets.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import {
  aTurnOf,
  NO_TOKEN,
  named,
  ON_PLATFORM,
  person,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

const FOUND = { key: null, authorized: true, counted_in: null } as const;
const authorized = (members: object = {}) =>
  aTurnOf(world, { ...NO_TOKEN, ...named(null), ...FOUND, ...members });
const tick = () => new Promise(setImmediate);

describe('lock-session', () => {
  it('claims the session until the turn ends', async () => {
    const { turn } = await runStep(world, lockSession, authorized());
    expect(turn.claim).toMatchObject({ session_tag: 's' });
    expect(await world.peer.sessions.claim('s')).toBeNull();
    await turn.release(false);
    expect(await world.peer.sessions.claim('s')).not.toBeNull();
    expect(world.services.claims.size).toBe(0);
  });

  it('starts the answer before it waits for the lock if the session id cannot change', async () => {
    const { turn: first } = await runStep(world, lockSession, authorized());
    const session = aSession(world.clock.now(), { session_id: 's', generated: false });
    const waiting = authorized(named(session));
    const asked = runStep(world, lockSession, waiting);
    await tick();
    expect(waiting.outlet.told).toEqual(['started s']);
    await first.release(false);
    expect((await asked).turn.has_started).toBe(true);
  });

  it('starts the answer at once if the session id was created for this message', async () => {
    const { turn } = await runStep(world, lockSession, authorized({ session_is_generated: true }));
    expect([turn.has_started, turn.outlet.told]).toEqual([true, ['started s']]);
  });

  it('does not start the answer if the session is not stored yet, because its first message may still sign in', async () => {
    const session_id = generateSessionId('sse', 'visitor');
    const { turn } = await runStep(world, lockSession, authorized({ session_id, session_tag: session_id }));
    expect([turn.has_started, turn.outlet.told]).toEqual([false, []]);
  });

  it('leaves the start of the answer to resolve-principal if a sign-in may change the session id', async () => {
    const session = aSession(world.clock.now(), { session_id: 's', generated: true });
    await saveSession(world.store, session);
    const { turn } = await runStep(world, lockSession, authorized(named(session)));
    expect([turn.has_started, turn.outlet.told]).toEqual([false, []]);
  });

  it('reads the session again under the lock, because another message may have created it', async () => {
    const session = aSession(world.clock.now(), { session_id: 's' });
    await saveSession(world.store, session);
    const { turn } = await runStep(world, lockSession, authorized());
    expect(turn.found).toEqual(session);
  });

  it('locks the right session if a sign-in by another message has changed the session id', async () => {
    const before = aSession(world.clock.now(), { session_id: 's', generated: true });
    const after = { ...before, session_id: 'new', former_id: 's', owner: person('ada') };
    await saveSession(world.store, after);
    const { turn, line } = await runStep(world, lockSession, authorized(named(before)));
    expect(turn.session_id).toMatch(/^webchat_visitor_/);
    expect([turn.found, turn.claim.session_tag]).toEqual([null, turn.session_id]);
    expect(line.reason).toBe('session_changed');
    // The stranger's message did not lock Ada's session, so Ada's message can lock it.
    const owner = await runStep(world, lockSession, authorized({ ...named(before), ...signedIn('ada') }));
    expect(owner.turn).toMatchObject({ session_id: 'new', claim: { session_tag: 's' } });
  });

  it('keeps the order of arrival, even if the token of an earlier message takes longer to check', async () => {
    const sequencer = new Tickets();
    const [slow, quick] = [sequencer.take('s'), sequencer.take('s')];
    const order: string[] = [];
    const lock = async (name: string, ticket: typeof slow) => {
      const { turn } = await runStep(world, lockSession, authorized({ ticket }));
      order.push(name);
      await turn.release(false);
    };
    const second = lock('quick', quick);
    await tick();
    const first = lock('slow', slow);
    await Promise.all([first, second]);
    expect(order).toEqual(['slow', 'quick']);
    expect(sequencer.size).toBe(0);
  });

  it('aborts the turn when its claim is lost', async () => {
    const { turn } = await runStep(world, lockSession, authorized());
    world.clock.moveTo(world.clock.now() + CLAIM_MS / 3);
    await tick();
    expect(turn.lost.signal.aborted).toBe(false);
    world.services.store.sessions.renew = async () => false;
    world.clock.moveTo(world.clock.now() + CLAIM_MS / 3);
    await tick();
    expect(turn.lost.signal.reason).toBeInstanceOf(ClaimLost);
  });

  it('reads the actions of earlier runs only for messages that may run again', async () => {
    const asked: unknown[] = [];
    const { beginTurn } = world.store;
    world.services.store.beginTurn = (...of) => {
      asked.push(of[2]);
      return beginTurn(...of);
    };
    const key = { key: 'key', fingerprint: 'f', owner: 'o' };
    for (const members of [{}, { key }, ON_PLATFORM]) {
      const { turn } = await runStep(world, lockSession, authorized(members));
      await turn.release(false);
    }
    expect(asked).toEqual([null, turnKey({ turn_id: '', key }), expect.any(String)]);
  });
});
