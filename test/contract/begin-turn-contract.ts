import { beforeEach, describe, expect, it } from 'vitest';
import { CLAIM_MS, type SessionClaim } from '../../src/daemon/store/claims/claims.ts';
import { BEGUN_TURNS, type BegunTurn } from '../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { aPendingAction, aSession, aTrace, aTurn } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import {
  beginConfirmed,
  callBoth,
  claimSession,
  commitUnderClaim,
  keepTurn,
  saveSession,
} from './store-writes.ts';

const HOUR = 60 * 60 * 1000;

/** The contract of `beginTurn`. */
export function describeBeginTurn(current: () => StoreUnderTest): void {
  describe('beginTurn', () => {
    let test: StoreUnderTest;
    let store: Store;
    beforeEach(() => {
      test = current();
      store = test.store;
    });

    const begin = async (session_tag: string, session_id = session_tag, turn_key: string | null = null) => {
      const begun = await store.beginTurn(session_tag, session_id, turn_key);
      if (!begun) throw new Error('the session was already claimed');
      return begun;
    };
    const release = ({ claim }: { claim: SessionClaim }) => store.sessions.release(claim);
    /** The texts of the turns. Null if the backend does not read turns here, but only in `history`. */
    const textsOf = ({ turns }: BegunTurn) => turns.map(({ text }) => text);

    it('claims a session as `claim` does, even if the session does not exist yet', async () => {
      const begun = await begin('s');
      expect(begun).toMatchObject({ found: null, pending: [], earlier: [] });
      expect(textsOf(begun)).toEqual([]);
      expect(await store.beginTurn('s', 's', null)).toBeNull();
      expect(await store.sessions.claim('s')).toBeNull();
      expect(await store.commitTurn(begun.claim, { trace: aTrace(null) })).toBe('committed');
      await release(begun);
      const claim = await claimSession(store, 's');
      expect(await store.beginTurn('s', 's', null)).toBeNull();
      test.advance(CLAIM_MS);
      const next = await begin('s');
      expect(await store.commitTurn(claim, { trace: aTrace(null) })).toBe('lost');
      expect(next.claim.owner).not.toBe(claim.owner);
    });

    it('grants a session to only one of many simultaneous callers, at any daemon', async () => {
      const all = await callBoth(test, 20, (at) => at.beginTurn('s', 's', null));
      expect(all.filter((begun) => begun)).toHaveLength(1);
    });

    describe('messages that wait for a session', () => {
      const place = (daemon: string, message: number) => ({ daemon, message });
      const ask = async (daemon: string, message: number) =>
        (await store.beginTurn('s', 's', null, null, place(daemon, message)))?.claim ?? null;
      const taken = async (daemon: string, message: number) => {
        const claim = await ask(daemon, message);
        if (!claim) throw new Error('the message must wait');
        return claim;
      };
      const end = (claim: SessionClaim) => store.commitTurn(claim, { trace: aTrace(null), ends_claim: true });

      it('get it in the order of arrival at all daemons', async () => {
        const first = await taken('a', 1);
        await store.sessions.wait('s', place('a', 2));
        expect(await ask('b', 1)).toBeNull();
        await store.sessions.wait('s', place('a', 3));
        await end(first);
        expect(await ask('b', 1)).toBeNull();
        const second = await taken('a', 2);
        await store.sessions.release(second);
        expect([await ask('a', 3), await ask('c', 1)]).toEqual([null, null]);
        await end(await taken('b', 1));
        await end(await taken('a', 3));
        await end(await taken('c', 1));
        await end(await taken('a', 4));
      });

      it('leave the order of one daemon to that daemon', async () => {
        const first = await taken('a', 1);
        await store.sessions.wait('s', place('a', 2));
        await store.sessions.wait('s', place('a', 3));
        await end(first);
        await end(await taken('a', 3));
        await end(await taken('a', 2));
        await end(await taken('b', 1));
      });

      it('are not waited for when they have given up, or their daemon has died', async () => {
        const first = await taken('a', 1);
        expect([await ask('b', 1), await ask('c', 1)]).toEqual([null, null]);
        await store.sessions.leave('s', place('b', 1));
        await end(first);
        expect(await ask('a', 2)).toBeNull();
        test.advance(CLAIM_MS);
        await end(await taken('a', 2));
      });

      it('are not passed because of a place that an earlier message of the other daemon has left behind', async () => {
        const first = await taken('a', 1);
        expect(await ask('b', 1)).toBeNull();
        await store.sessions.wait('s', place('a', 2));
        await end(first);
        expect(await ask('b', 2)).toBeNull();
        await end(await taken('a', 2));
        await end(await taken('b', 2));
      });

      it('keep their places as long as their daemon asks for the session, or has it', async () => {
        const first = await taken('a', 1);
        await store.sessions.wait('s', place('a', 2));
        await store.sessions.wait('s', place('b', 1));
        await store.sessions.wait('s', place('b', 2));
        for (let n = 0; n < 4; n++) {
          test.advance(CLAIM_MS / 2);
          expect([await store.sessions.renew(first), await ask('b', 1)]).toEqual([true, null]);
        }
        await end(first);
        expect(await ask('c', 1)).toBeNull();
        await end(await taken('a', 2));
        await end(await taken('b', 1));
        expect(await ask('c', 1)).toBeNull();
        await end(await taken('b', 2));
        await end(await taken('c', 1));
      });
    });

    it('knows whether the token of the message ended with a sign-out, at any daemon', async () => {
      const token = { iss: 'https://shop.example', sub: 'ada', iat: 100 };
      const begun = async () => {
        const turn = await store.beginTurn('s', 's', null, token);
        if (!turn) throw new Error('the session was already claimed');
        await release(turn);
        return turn.signed_out;
      };
      expect([(await begin('other')).signed_out, await begun()]).toEqual([null, false]);
      const peer = await test.another();
      const mark = { ...token, jti: 'j', tenant_id: null, sid: null, expires_at: test.now() + HOUR };
      expect(await peer.signOutMarks.add(mark)).toBe('added');
      expect(await begun()).toBe(true);
    });

    it('finds the session by its current id, and by its id from before sign-in', async () => {
      const session = aSession(test.now(), { generated: true });
      const { session_id: tag } = session;
      await saveSession(store, session);
      const found = await begin(tag);
      expect(found.found).toEqual(session);
      await release(found);
      const renamed = { ...session, session_id: 'new', former_id: tag };
      await saveSession(store, renamed, 'changed');
      for (const id of ['new', tag]) {
        const begun = await begin(tag, id);
        expect(begun.found).toEqual(renamed);
        await release(begun);
      }
    });

    it('finds a session by its id even under the claim of another session, unless it has expired', async () => {
      const session = aSession(test.now());
      await saveSession(store, session);
      const other = await begin('other', session.session_id);
      expect(other.found).toEqual(session);
      expect(other.claim.session_tag).toBe('other');
      await release(other);
      test.advance(HOUR);
      expect(await begin(session.session_id)).toMatchObject({ found: null });
    });

    it('returns the turns of the session, oldest first', async () => {
      const session = aSession(test.now());
      await saveSession(store, session);
      const texts = Array.from({ length: 5 }, (_, n) => `text ${n}`);
      for (const text of texts) await keepTurn(store, session, { text });
      const begun = await begin(session.session_id);
      expect(begun.turns).toEqual(await store.sessions.turns(session.session_id));
      expect(textsOf(begun)).toEqual(texts);
    });

    it('returns the last BEGUN_TURNS turns of a longer session', async () => {
      const session = aSession(test.now());
      await saveSession(store, session);
      for (let n = 0; n < BEGUN_TURNS + 2; n++) await keepTurn(store, session, { text: `text ${n}` });
      const begun = await begin(session.session_id);
      expect(begun.turns).toHaveLength(BEGUN_TURNS);
      expect(textsOf(begun).at(-1)).toBe(`text ${BEGUN_TURNS + 1}`);
    });

    it('lists the pending actions of the session, and no others', async () => {
      const session = aSession(test.now());
      const { session_id } = session;
      const pending = aPendingAction(session);
      const turn = { record: aTurn(), ttl_ms: HOUR };
      const changes = { session, turn, trace: aTrace(session), pending: [pending] };
      expect(await commitUnderClaim(store, session_id, changes)).toBe('committed');
      const elsewhere = await begin('elsewhere');
      expect(elsewhere.pending).toEqual([]);
      const begun = await begin(session_id);
      expect(begun.pending).toEqual(await store.actions.pendingIn(session_id));
      expect(begun.pending).toMatchObject([{ action_id: pending.action_id, state: 'pending' }]);
      await release(begun);
      await store.sessions.end(session_id);
      expect(await begin(session_id)).toMatchObject({ pending: [], found: null });
    });

    it('returns the actions of earlier runs of the message, if the key of the turn is given', async () => {
      const session = aSession(test.now());
      const { session_id } = session;
      const pending = aPendingAction(session);
      const turn = { record: aTurn(), ttl_ms: HOUR };
      await commitUnderClaim(store, session_id, {
        session,
        turn,
        trace: aTrace(session),
        pending: [pending],
      });
      const first = await begin(session_id, session_id, 'turn');
      expect(first.earlier).toEqual([]);
      await beginConfirmed(store, first.claim, pending.action_id, 'turn');
      await release(first);
      const again = await begin(session_id, session_id, 'turn');
      expect(again.earlier).toEqual(await store.actions.ofTurn('turn'));
      expect(again.earlier).toMatchObject([{ action_id: pending.action_id, state: 'started' }]);
      await release(again);
      expect(await begin(session_id)).toMatchObject({ earlier: [] });
    });
  });
}
