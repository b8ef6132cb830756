import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PersonKey } from '../../src/daemon/identity/identity.ts';
import type { Session, StoredTurn } from '../../src/daemon/session/session.ts';
import { CLAIM_MS } from '../../src/daemon/store/claims/claims.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada, aSession, aTrace, aTurn, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import {
  callBoth,
  claimSession,
  commitUnderClaim,
  keepTurn,
  saveSession,
  sweepAll,
  sweepExpired,
} from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
/** A reader who sees only the turns without a signed-in person. */
const EVERYONE_SEES = { person: null, nobodys: true };

/** The contract of the port `sessions`. */
export function describeSessions(current: () => StoreUnderTest): void {
  describe('sessions', () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(() => {
      test = current();
      store = test.store;
    });

    it('finds a session exactly as it was saved', async () => {
      const session = await saved({
        owner: ada,
        metadata: {
          jwt_context: {
            has_jwt: true,
            user_id: 'ada',
            email: 'ada@example.com',
            token: 'sealed.v1.x',
            token_exp: '2030-01-01T00:00:00.000Z',
          },
        },
        credential_owner: { user_id: 'u1', person: ada },
        generated: true,
      });
      expect(await store.sessions.find(session.session_id)).toEqual(session);
    });

    it('stores any Unicode text as an id, and distinguishes ids that look alike', async () => {
      const alike = ['é', 'e\u0301', 'É', 'a b', "a'b", 'a%', 'a_', 'a:b', 'a\u0000b', 'a', ' a'];
      const ids = [...alike, '日本語', '👩‍👩‍👧'];
      for (const id of ids) await saved({ session_id: id, user_id: id });
      for (const id of ids) expect((await store.sessions.find(id))?.user_id).toBe(id);
      expect(await store.sessions.find('A')).toBeNull();
      expect(await store.sessions.find('ab')).toBeNull();
    });

    it('returns null for a session that never existed', async () => {
      expect(await store.sessions.find('nobody')).toBeNull();
    });

    it('changes a stored session', async () => {
      const session = await saved({ credential_owner: { user_id: 'u1', person: ada }, owner: ada });
      const changed = { ...session, credential_owner: null, metadata: {} };
      expect(await saveSession(store, changed, 'changed')).toBe('saved');
      expect(await store.sessions.find(session.session_id)).toEqual(changed);
    });

    it('writes nothing if a changed session has ended meanwhile', async () => {
      const session = await saved();
      await store.sessions.end(session.session_id);
      expect(await saveSession(store, { ...session, owner: ada }, 'changed')).toBe('ended');
      expect(await store.sessions.find(session.session_id)).toBeNull();
    });

    it('replaces a session with a new one that has none of the old turns', async () => {
      const session = await saved();
      await keepTurn(store, session);
      const anew = aSession(test.now(), { session_id: session.session_id, user_id: 'another', owner: bob });
      expect(await saveSession(store, anew, 'replaced')).toBe('saved');
      expect(await store.sessions.find(session.session_id)).toEqual(anew);
      expect(await store.sessions.turns(session.session_id)).toEqual([]);
      expect(await store.sessions.list({ limit: 10 })).toEqual([anew]);
    });

    it('finds a session by its id and by its id from before sign-in, which stays reserved while the session lives', async () => {
      const begun = await saved({ generated: true });
      const tag = begun.session_id;
      await keepTurn(store, begun, { text: 'before' });
      const found = (await store.sessions.find(tag)) as Session;
      const renamed: Session = { ...found, session_id: randomUUID(), former_id: tag, owner: ada };
      expect(await saveSession(store, renamed, 'changed')).toBe('saved');
      expect(await store.sessions.find(tag)).toEqual(renamed);
      expect(await store.sessions.find(renamed.session_id)).toEqual(renamed);
      await keepTurn(store, renamed, { text: 'after' });
      expect(texts(await store.sessions.turns(renamed.session_id))).toEqual(['before', 'after']);
      const taken = aSession(test.now(), { session_id: tag });
      await expect(saveSession(store, taken)).rejects.toThrow();
      await expect(commitUnderClaim(store, tag, { session: taken, trace: aTrace(taken) })).rejects.toThrow();
      expect(await store.sessions.list({ limit: 10 })).toHaveLength(1);
      expect(await store.sessions.end(tag)).toBe(true);
      expect(await store.sessions.find(renamed.session_id)).toBeNull();
      expect(await store.sessions.find(tag)).toBeNull();
      expect(await saveSession(store, taken)).toBe('saved');
    });

    it('frees both ids of a session that has expired, before any sweep', async () => {
      const renamed = await saved({ former_id: randomUUID() });
      test.advance(2 * HOUR);
      for (const id of [renamed.session_id, renamed.former_id as string]) {
        expect(await store.sessions.find(id)).toBeNull();
        expect(await saveSession(store, aSession(test.now(), { session_id: id }))).toBe('saved');
      }
    });

    it('treats an expired session as absent, before any sweep', async () => {
      const session = await saved();
      test.advance(HOUR - 1);
      expect(await store.sessions.find(session.session_id)).not.toBeNull();
      test.advance(1);
      expect(await store.sessions.find(session.session_id)).toBeNull();
      expect(await store.sessions.list({ limit: 10 })).toEqual([]);
      expect(await store.sessions.turns(session.session_id)).toEqual([]);
      expect(await store.sessions.end(session.session_id)).toBe(false);
      expect(await saveSession(store, session, 'changed')).toBe('ended');
    });

    it('does not show the turns of an expired session in a new session with the same id', async () => {
      const session = await saved();
      await keepTurn(store, session, { text: 'old' });
      test.advance(2 * HOUR);
      const fresh = aSession(test.now(), { session_id: session.session_id, user_id: 'someone else' });
      expect(await saveSession(store, fresh)).toBe('saved');
      expect(await store.sessions.find(session.session_id)).toEqual(fresh);
      expect(await store.sessions.turns(session.session_id)).toEqual([]);
      expect(await store.sessions.history(session.session_id, EVERYONE_SEES, 10)).toEqual([]);
    });

    it('shows a reader their own turns, anonymous turns on request, and never turns of another person', async () => {
      const session = await saved();
      await keepTurn(store, session, { text: 'by nobody', person: null });
      await keepTurn(store, session, { text: 'by ada', person: ada });
      await keepTurn(store, session, { text: 'by bob', person: bob });
      const seen = async (person: PersonKey | null, nobodys: boolean) =>
        texts(await store.sessions.history(session.session_id, { person, nobodys }, 10));
      expect(await seen(ada, true)).toEqual(['by nobody', 'by ada']);
      expect(await seen(bob, true)).toEqual(['by nobody', 'by bob']);
      expect(await seen(null, true)).toEqual(['by nobody']);
      expect(await seen(ada, false)).toEqual(['by ada']);
      expect(await seen(null, false)).toEqual(['by nobody']);
    });

    it('returns the last answered turns, oldest first, without failed turns', async () => {
      const session = await saved();
      for (const text of ['1', '2', '3']) await keepTurn(store, session, { text });
      const failed = { text: 'failed', reply: null, outcome: 'failed', failure: 'agent_failed' } as const;
      await keepTurn(store, session, failed);
      expect(texts(await store.sessions.history(session.session_id, EVERYONE_SEES, 2))).toEqual(['2', '3']);
      expect(texts(await store.sessions.turns(session.session_id))).toEqual(['1', '2', '3', 'failed']);
    });

    it('lists sessions by channel and user, the latest activity first, up to the limit', async () => {
      const first = await saved({ platform: 'one', user_id: 'u1' });
      test.advance(1);
      const second = await saved({ platform: 'two', user_id: 'u1' });
      test.advance(1);
      const third = await saved({ platform: 'one', user_id: 'u2' });
      test.advance(1);
      await keepTurn(store, first);
      const ids = async (filter: Parameters<typeof store.sessions.list>[0]) =>
        (await store.sessions.list(filter)).map(({ session_id }) => session_id);
      const among = (...users: { platform?: string; user_id?: string }[]) => ids({ among: users, limit: 10 });
      expect(await ids({ limit: 10 })).toEqual([first.session_id, third.session_id, second.session_id]);
      expect(await ids({ limit: 2 })).toEqual([first.session_id, third.session_id]);
      expect(await among({ platform: 'one' })).toEqual([first.session_id, third.session_id]);
      expect(await among({ user_id: 'u1' })).toEqual([first.session_id, second.session_id]);
      expect(await among({ platform: 'two', user_id: 'u2' })).toEqual([]);
      expect(await among({ platform: 'two' }, { user_id: 'u1' })).toEqual([
        first.session_id,
        second.session_id,
      ]);
    });

    it('ends a session and deletes its turns, but keeps its traces', async () => {
      const session = await saved();
      const trace = await keepTurn(store, session);
      expect(await store.sessions.end(session.session_id)).toBe(true);
      expect(await store.sessions.end(session.session_id)).toBe(false);
      expect(await store.sessions.turns(session.session_id)).toEqual([]);
      expect(await store.traces.find(session.session_id)).toEqual([trace]);
      await saveSession(store, session);
      expect(await store.sessions.turns(session.session_id)).toEqual([]);
    });

    it('makes the writes of one instance visible to the others at once', async () => {
      const administrator = await test.beside();
      const session = await saved();
      await keepTurn(store, session);
      expect((await administrator.sessions.find(session.session_id))?.turns).toBe(1);
      expect(await administrator.sessions.end(session.session_id)).toBe(true);
      expect(await store.sessions.find(session.session_id)).toBeNull();
      const late = { turn: { record: aTurn(), ttl_ms: HOUR }, trace: aTrace(session) };
      expect(await commitUnderClaim(store, session.session_id, late)).toBe('session_ended');
    });

    describe('claims', () => {
      it('are given to one of many simultaneous callers, and to the next caller after the release', async () => {
        const claims = await callBoth(test, 20, ({ sessions }) => sessions.claim('s'));
        const [claim] = claims.filter((one) => one !== null);
        expect(claims.filter((one) => one !== null)).toHaveLength(1);
        expect(claim?.session_tag).toBe('s');
        await store.sessions.release(claim as NonNullable<typeof claim>);
        const next = await claimSession(await test.another(), 's');
        expect(next.owner).not.toBe(claim?.owner);
        expect(await store.sessions.claim('s')).toBeNull();
      });

      it('of different sessions can be held at once', async () => {
        expect(await store.sessions.claim('a')).not.toBeNull();
        expect(await store.sessions.claim('b')).not.toBeNull();
      });

      it('expire after CLAIM_MS unless they are renewed', async () => {
        const other = await test.another();
        const claim = await claimSession(store, 's');
        for (let n = 0; n < 3; n++) {
          test.advance(CLAIM_MS - 1);
          expect(await other.sessions.claim('s')).toBeNull();
          expect(await store.sessions.renew(claim)).toBe(true);
        }
        test.advance(CLAIM_MS);
        const next = await claimSession(other, 's');
        expect(await store.sessions.renew(claim)).toBe(false);
        expect(await other.sessions.renew(next)).toBe(true);
      });

      it('still belong to their owner after they have expired, until another caller takes them over', async () => {
        const session = aSession(test.now() + HOUR);
        const claim = await claimSession(store, session.session_id);
        test.advance(CLAIM_MS);
        expect(await store.sessions.save(claim, session, 'new')).toBe('saved');
        expect(await store.sessions.renew(claim)).toBe(true);
        expect(await (await test.another()).sessions.claim(session.session_id)).toBeNull();
      });

      it('allow no write after they were taken over or released', async () => {
        const session = await saved();
        const stale = await claimSession(store, session.session_id);
        test.advance(CLAIM_MS);
        const other = await test.another();
        const next = await claimSession(other, session.session_id);
        const released = { ...next };
        for (const as of ['new', 'changed', 'replaced'] as const)
          expect(await store.sessions.save(stale, { ...session, owner: ada }, as)).toBe('lost');
        await store.sessions.release(stale);
        expect(await store.sessions.claim(session.session_id)).toBeNull();
        expect(await other.sessions.find(session.session_id)).toEqual(session);
        await other.sessions.release(next);
        expect(await other.sessions.save(released, { ...session, owner: ada }, 'changed')).toBe('lost');
        expect(await other.sessions.renew(released)).toBe(false);
        expect(await store.sessions.find(session.session_id)).toEqual(session);
      });

      it('of another session allow no write', async () => {
        const session = await saved();
        const other = await claimSession(store, 'another');
        const theft = { ...other, session_tag: session.session_id };
        await expect(store.sessions.save(other, { ...session, owner: ada }, 'changed')).rejects.toThrow();
        expect(await store.sessions.save(theft, { ...session, owner: ada }, 'changed')).toBe('lost');
        expect(await store.sessions.find(session.session_id)).toEqual(session);
      });

      it('are not needed to end a session as an administrator, and stay valid when the session is ended', async () => {
        const session = await saved();
        const claim = await claimSession(store, session.session_id);
        expect(await (await test.beside()).sessions.end(session.session_id)).toBe(true);
        expect(await store.sessions.renew(claim)).toBe(true);
        expect(await store.sessions.save(claim, session, 'changed')).toBe('ended');
        expect(await store.sessions.save(claim, session, 'new')).toBe('saved');
      });

      it('of a process that died can be taken over after CLAIM_MS', async () => {
        await claimSession(store, 's');
        const next = await test.restart();
        test.advance(CLAIM_MS);
        expect(await next.sessions.claim('s')).not.toBeNull();
      });
    });

    describe('sessions of anonymous clients', () => {
      /** This text makes a session of about 10,000 bytes. 20 of these sessions fit within the bound. */
      const text = 'x'.repeat(8500);

      beforeEach(({ skip }) => {
        skip(!test.boundsAnonymous, 'this backend does not bound what anonymous clients store');
      });

      async function begin(members: Partial<Session>): Promise<Session> {
        const session = await saved(members);
        await keepTurn(store, session, { text });
        test.advance(1);
        return session;
      }

      async function beginMany(number: number, members: Partial<Session>): Promise<Session[]> {
        const sessions: Session[] = [];
        for (let n = 0; n < number; n++) sessions.push(await begin(members));
        return sessions;
      }

      const live = async (sessions: readonly Session[]) => {
        const found = await Promise.all(sessions.map(({ session_id }) => store.sessions.find(session_id)));
        return sessions.filter((_, place) => found[place] !== null);
      };

      it('are deleted if they take up too much space, the longest idle of the largest client first', async () => {
        const few = await beginMany(5, { client: 'few' });
        const many = await beginMany(10, { client: 'many' });
        const [first, second] = many as [Session, Session];
        // The first session is the oldest, but now has the newest message.
        await keepTurn(store, first);
        const more = await beginMany(5, { client: 'many' });
        const kept = await live([...few, ...many, ...more]);
        expect(kept.length).toBeLessThan(20);
        expect(await live(few)).toEqual(few);
        expect(await live(more)).toEqual(more);
        expect(await live([first, second])).toEqual([first]);
        expect(await store.sessions.turns(second.session_id)).toEqual([]);
        expect(await store.traces.find(second.session_id)).toEqual([]);
        expect(await store.traces.find(first.session_id)).toHaveLength(2);
      });

      it('together stay within the bound, however many clients there are', async () => {
        const sessions: Session[] = [];
        for (let n = 0; n < 60; n++) {
          sessions.push(await begin({ client: `client ${n}` }));
          expect((await live(sessions)).length).toBeLessThanOrEqual(20);
        }
        expect((await live(sessions)).length).toBeGreaterThan(15);
      });

      it('count toward the bound even if a turn creates them', async () => {
        const sessions: Session[] = [];
        for (let n = 0; n < 30; n++) {
          const session = aSession(test.now(), { client: 'c' });
          const turn = { record: aTurn({ text }), ttl_ms: HOUR };
          await commitUnderClaim(store, session.session_id, { session, turn, trace: aTrace(session) });
          sessions.push(session);
          test.advance(1);
        }
        expect((await live(sessions)).length).toBeLessThanOrEqual(20);
      });

      it('do not displace other sessions, and other sessions do not count toward the bound', async () => {
        const others = await Promise.all(Array.from({ length: 30 }, () => begin({ owner: ada })));
        others.push(...(await beginMany(10, {})));
        const anonymous = await beginMany(15, { client: 'c' });
        expect(await live([...others, ...anonymous])).toHaveLength(55);
        await beginMany(30, { client: 'd' });
        expect(await live(others)).toHaveLength(40);
      });

      it('free their space when they get an owner, are ended or expire', async () => {
        const first = await beginMany(18, { client: 'c' });
        for (const [place, session] of first.entries()) {
          const found = (await store.sessions.find(session.session_id)) ?? session;
          if (place < 6) await saveSession(store, { ...found, owner: ada }, 'changed');
          else await store.sessions.end(session.session_id);
        }
        expect(await live(await beginMany(18, { client: 'c' }))).toHaveLength(18);
        test.advance(HOUR);
        await sweepAll(store);
        expect(await live(await beginMany(18, { client: 'c' }))).toHaveLength(18);
      });

      it('stay within the bound after a restart, and while administrators work', async () => {
        const before = await beginMany(15, { client: 'c' });
        const administrator = await test.beside();
        expect(await administrator.sessions.end(before[0]?.session_id ?? '')).toBe(true);
        store = await test.restart();
        const after = await beginMany(15, { client: 'c' });
        const kept = await live([...before, ...after]);
        expect(kept.length).toBeLessThanOrEqual(20);
        expect(kept.length).toBeGreaterThan(15);
      });
    });

    describe('sessions that have expired', () => {
      beforeEach(({ skip }) => {
        skip(store.maintenance === null, 'this backend needs no sweep');
      });

      it('are deleted when their extended time has passed, and not earlier', async () => {
        const session = await saved();
        test.advance(HOUR / 2);
        await keepTurn(store, session);
        test.advance(HOUR / 2);
        await sweepAll(store);
        expect(await store.sessions.turns(session.session_id)).toHaveLength(1);
        test.advance(HOUR / 2);
        if (store.maintenance !== null) expect(await sweepExpired(test)).toBeGreaterThan(0);
        expect(await store.sessions.find(session.session_id)).toBeNull();
      });

      it('are deleted when their time has passed, even if it was shortened', async () => {
        const session = await saved();
        await keepTurn(store, session, {}, HOUR / 4);
        test.advance(HOUR / 4);
        if (store.maintenance !== null) expect(await sweepExpired(test)).toBeGreaterThan(0);
        expect(await store.sessions.find(session.session_id)).toBeNull();
      });

      it('are deleted with their turns, in batches of at most 500 rows', async () => {
        const gone = await Promise.all(Array.from({ length: 30 }, () => saved()));
        await Promise.all(
          gone.map(async (session) => {
            for (let n = 0; n < 25; n++) await keepTurn(store, session, { text: `turn ${n}` });
          }),
        );
        test.advance(HOUR);
        const stays = await saved();
        await keepTurn(store, stays);
        const bites: number[] = [];
        for (;;) {
          const bite = (await store.maintenance?.sweep()) ?? 0;
          if (bite === 0) break;
          bites.push(bite);
        }
        expect(Math.max(...bites)).toBeLessThanOrEqual(500);
        expect((await store.sessions.list({ limit: 100 })).map(({ session_id }) => session_id)).toEqual([
          stays.session_id,
        ]);
        expect(await store.sessions.turns(stays.session_id)).toHaveLength(1);
      });
    });

    /** Saves a new session that lives for an hour. */
    async function saved(members: Partial<Session> = {}): Promise<Session> {
      const session = aSession(test.now(), members);
      expect(await saveSession(store, session)).toBe('saved');
      return session;
    }

    const texts = (turns: readonly StoredTurn[]) => turns.map(({ text }) => text);
  });
}
