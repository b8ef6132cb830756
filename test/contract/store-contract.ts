import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PersonKey } from '../../src/daemon/identity/identity.ts';
import type { Session, StoredTurn } from '../../src/daemon/session/session.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { TraceRecord } from '../../src/daemon/trace/trace-record.ts';
import { describeClock } from './clock-contract.ts';
import { ada, aSession, aStream, aTrace, aTurn, bob } from './fixtures.ts';
import { describeGuard } from './guard-contract.ts';
import { describeInbox } from './inbox-contract.ts';
import { describeLinks } from './links-contract.ts';
import { describeOutages } from './outages-contract.ts';
import { describeStreams } from './streams-contract.ts';

/** A store that stands for one backend, with a clock that the suite moves. */
export interface StoreUnderTest {
  store: Store;
  /** Opens another instance on the same data, as an administrator's command does. */
  beside(): Promise<Store>;
  /** Opens the data anew as a daemon, after the process of the first one has died. */
  restart(): Promise<Store>;
  now(): number;
  /** Moves the clock of the store, ms. */
  advance(ms: number): void;
  /** Closes every instance and removes the data. */
  dispose(): Promise<void>;
}

/** What the suite asks of a new store. */
export interface StoreWanted {
  traceRetentionMs: number;
  tracesMax: number;
  refusedMax: number;
  anonymousMax: number;
  inboxMax: number;
  failedMax: number;
}

const HOUR = 60 * 60 * 1000;
/** A reader of the turns of nobody. */
const EVERYONE_SEES = { person: null, nobodys: true };
const WANTED: StoreWanted = {
  traceRetentionMs: 7 * 24 * HOUR,
  tracesMax: 300,
  refusedMax: 100,
  anonymousMax: 200_000,
  inboxMax: 50,
  failedMax: 5,
};

/**
 * The contract of the store's ports: every backend passes it unchanged.
 * @param make a new, empty store each time.
 */
export function describeStore(name: string, make: (wanted: StoreWanted) => Promise<StoreUnderTest>): void {
  describe(`store contract: ${name}`, () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      test = await make(WANTED);
      store = test.store;
    });
    afterEach(() => test.dispose());

    describe('sessions', () => {
      it('finds a session exactly as it was saved', async () => {
        const session = aSession(test.now(), {
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
          bound: { user_id: 'u1', person: ada },
          generated: true,
        });
        expect(await store.sessions.save(session, 'new')).toBe(true);
        expect(await store.sessions.find(session.session_id)).toEqual(session);
      });

      it('keeps any Unicode text as an id, and tells apart ids that look alike', async () => {
        const ids = [
          'é',
          'e\u0301',
          'É',
          'a b',
          "a'b",
          '日本語',
          '👩‍👩‍👧',
          'a%',
          'a_',
          'a:b',
          'a\u0000b',
          'a',
          ' a',
        ];
        for (const id of ids)
          await store.sessions.save(aSession(test.now(), { session_id: id, user_id: id }), 'new');
        for (const id of ids) expect((await store.sessions.find(id))?.user_id).toBe(id);
        expect(await store.sessions.find('A')).toBeNull();
        expect(await store.sessions.find('ab')).toBeNull();
      });

      it('answers null for a session that never was', async () => {
        expect(await store.sessions.find('nobody')).toBeNull();
      });

      it('changes a session that is there', async () => {
        const session = await saved({ bound: { user_id: 'u1', person: ada }, owner: ada });
        const changed = { ...session, bound: null, metadata: {} };
        expect(await store.sessions.save(changed, 'changed')).toBe(true);
        expect(await store.sessions.find(session.session_id)).toEqual(changed);
      });

      it('writes nothing where a changed session has ended meanwhile', async () => {
        const session = await saved();
        await store.sessions.end(session.session_id);
        expect(await store.sessions.save({ ...session, owner: ada }, 'changed')).toBe(false);
        expect(await store.sessions.find(session.session_id)).toBeNull();
      });

      it('finds a session by its id and by the one before sign-in, which stays reserved while it lives', async () => {
        const begun = await saved({ generated: true });
        const tag = begun.session_id;
        await keep(begun, { text: 'before' });
        const found = await store.sessions.find(tag);
        const renamed: Session = {
          ...(found as Session),
          session_id: randomUUID(),
          former_id: tag,
          owner: ada,
        };
        expect(await store.sessions.save(renamed, 'changed')).toBe(true);
        expect(await store.sessions.find(tag)).toEqual(renamed);
        expect(await store.sessions.find(renamed.session_id)).toEqual(renamed);
        await keep(renamed, { text: 'after' });
        expect((await store.sessions.turns(renamed.session_id)).map(({ text }) => text)).toEqual([
          'before',
          'after',
        ]);
        await expect(store.sessions.save(aSession(test.now(), { session_id: tag }), 'new')).rejects.toThrow();
        expect(await store.sessions.list({ limit: 10 })).toHaveLength(1);
        expect(await store.sessions.end(tag)).toBe(true);
        expect(await store.sessions.find(renamed.session_id)).toBeNull();
        expect(await store.sessions.find(tag)).toBeNull();
        expect(await store.sessions.save(aSession(test.now(), { session_id: tag }), 'new')).toBe(true);
      });

      it('frees both ids of a session that has expired, before any sweep', async () => {
        const renamed = await saved({ former_id: randomUUID() });
        test.advance(2 * HOUR);
        for (const id of [renamed.session_id, renamed.former_id as string]) {
          expect(await store.sessions.find(id)).toBeNull();
          expect(await store.sessions.save(aSession(test.now(), { session_id: id }), 'new')).toBe(true);
        }
      });

      it('treats a session whose time has passed as none, before any sweep', async () => {
        const session = await saved();
        test.advance(HOUR - 1);
        expect(await store.sessions.find(session.session_id)).not.toBeNull();
        test.advance(1);
        expect(await store.sessions.find(session.session_id)).toBeNull();
        expect(await store.sessions.list({ limit: 10 })).toEqual([]);
        expect(await store.sessions.turns(session.session_id)).toEqual([]);
        expect(await store.sessions.end(session.session_id)).toBe(false);
        expect(await store.sessions.save(session, 'changed')).toBe(false);
      });

      it('gives a new session of an expired id none of the old turns', async () => {
        const session = await saved();
        await keep(session, { text: 'old' });
        test.advance(2 * HOUR);
        const fresh = aSession(test.now(), { session_id: session.session_id, user_id: 'someone else' });
        expect(await store.sessions.save(fresh, 'new')).toBe(true);
        expect(await store.sessions.find(session.session_id)).toEqual(fresh);
        expect(await store.sessions.turns(session.session_id)).toEqual([]);
        expect(await store.sessions.history(session.session_id, EVERYONE_SEES, 10)).toEqual([]);
      });

      it('keeps a turn, counts it and slides the time of the session', async () => {
        const session = await saved();
        test.advance(HOUR / 2);
        const turn = aTurn({ text: 'hello', person: ada });
        expect(await store.sessions.keepTurn(session.session_id, turn, aTrace(session), HOUR)).toBe(true);
        expect(await store.sessions.turns(session.session_id)).toEqual([turn]);
        expect(await store.sessions.find(session.session_id)).toEqual({
          ...session,
          turns: 1,
          last_active_at: test.now(),
          expires_at: test.now() + HOUR,
        });
      });

      it('keeps only the trace of a turn whose session ended meanwhile', async () => {
        const session = await saved();
        await store.sessions.end(session.session_id);
        const trace = aTrace(session);
        expect(await store.sessions.keepTurn(session.session_id, aTurn(), trace, HOUR)).toBe(false);
        expect(await store.sessions.find(session.session_id)).toBeNull();
        expect(await store.traces.find(trace.turn_id)).toEqual([trace]);
      });

      it('shows a reader their own turns, those of nobody if asked, never those of another person', async () => {
        const session = await saved();
        await keep(session, { text: 'by nobody', person: null });
        await keep(session, { text: 'by ada', person: ada });
        await keep(session, { text: 'by bob', person: bob });
        const texts = async (person: PersonKey | null, nobodys: boolean) =>
          (await store.sessions.history(session.session_id, { person, nobodys }, 10)).map(({ text }) => text);
        expect(await texts(ada, true)).toEqual(['by nobody', 'by ada']);
        expect(await texts(bob, true)).toEqual(['by nobody', 'by bob']);
        expect(await texts(null, true)).toEqual(['by nobody']);
        expect(await texts(ada, false)).toEqual(['by ada']);
        expect(await texts(null, false)).toEqual(['by nobody']);
      });

      it('remembers the last answered turns, oldest first, and leaves out failed ones', async () => {
        const session = await saved();
        for (const text of ['1', '2', '3']) await keep(session, { text });
        await keep(session, { text: 'failed', reply: null, outcome: 'failed', failure: 'agent_failed' });
        const texts = (turns: StoredTurn[]) => turns.map(({ text }) => text);
        expect(texts(await store.sessions.history(session.session_id, EVERYONE_SEES, 2))).toEqual(['2', '3']);
        expect(texts(await store.sessions.turns(session.session_id))).toEqual(['1', '2', '3', 'failed']);
      });

      it('lists the newest activity first, by channel and user, within the limit', async () => {
        const first = await saved({ platform: 'one', user_id: 'u1' });
        test.advance(1);
        const second = await saved({ platform: 'two', user_id: 'u1' });
        test.advance(1);
        const third = await saved({ platform: 'one', user_id: 'u2' });
        test.advance(1);
        await keep(first);
        const ids = async (filter: { platform?: string; user_id?: string; limit: number }) =>
          (await store.sessions.list(filter)).map(({ session_id }) => session_id);
        expect(await ids({ limit: 10 })).toEqual([first.session_id, third.session_id, second.session_id]);
        expect(await ids({ limit: 2 })).toEqual([first.session_id, third.session_id]);
        expect(await ids({ platform: 'one', limit: 10 })).toEqual([first.session_id, third.session_id]);
        expect(await ids({ user_id: 'u1', limit: 10 })).toEqual([first.session_id, second.session_id]);
        expect(await ids({ platform: 'two', user_id: 'u2', limit: 10 })).toEqual([]);
      });

      it('ends a session with its turns, and keeps the traces', async () => {
        const session = await saved();
        const trace = await keep(session);
        expect(await store.sessions.end(session.session_id)).toBe(true);
        expect(await store.sessions.end(session.session_id)).toBe(false);
        expect(await store.sessions.turns(session.session_id)).toEqual([]);
        expect(await store.traces.find(session.session_id)).toEqual([trace]);
        await store.sessions.save(session, 'new');
        expect(await store.sessions.turns(session.session_id)).toEqual([]);
      });

      it('shows one instance at once what another has written', async () => {
        const administrator = await test.beside();
        const session = await saved();
        await keep(session);
        expect((await administrator.sessions.find(session.session_id))?.turns).toBe(1);
        expect(await administrator.sessions.end(session.session_id)).toBe(true);
        expect(await store.sessions.find(session.session_id)).toBeNull();
        expect(await store.sessions.keepTurn(session.session_id, aTurn(), aTrace(session), HOUR)).toBe(false);
      });
    });

    describe('anonymous clients', () => {
      /** About 10,000 bytes: 20 of them are the bound. */
      const text = 'x'.repeat(8500);

      async function begin(members: Partial<Session>): Promise<Session> {
        const session = aSession(test.now(), members);
        await store.sessions.save(session, 'new');
        const turn = aTurn({ text });
        const trace = aTrace(session, { turn_id: turn.turn_id });
        await store.sessions.keepTurn(session.session_id, turn, trace, HOUR);
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

      it('lose the longest idle sessions of the one that holds most, with turns and traces', async () => {
        const few = await beginMany(5, { client: 'few' });
        const many = await beginMany(10, { client: 'many' });
        const [first, second] = many as [Session, Session];
        // It was begun first, but something was said in it since.
        await store.sessions.keepTurn(first.session_id, aTurn(), aTrace(first), HOUR);
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

      it('stay within the bound, all together, however many they are', async () => {
        const sessions: Session[] = [];
        for (let n = 0; n < 60; n++) {
          sessions.push(await begin({ client: `client ${n}` }));
          expect((await live(sessions)).length).toBeLessThanOrEqual(20);
        }
        expect((await live(sessions)).length).toBeGreaterThan(15);
      });

      it('take nothing from persons and platforms, and these count for nothing', async () => {
        const others = await Promise.all(Array.from({ length: 30 }, () => begin({ owner: ada })));
        others.push(...(await beginMany(10, {})));
        const anonymous = await beginMany(15, { client: 'c' });
        expect(await live([...others, ...anonymous])).toHaveLength(55);
        await beginMany(30, { client: 'd' });
        expect(await live(others)).toHaveLength(40);
      });

      it('free their space when a session gets an owner, ends or expires', async () => {
        const first = await beginMany(18, { client: 'c' });
        for (const [place, session] of first.entries()) {
          const found = await store.sessions.find(session.session_id);
          if (place < 6) await store.sessions.save({ ...(found ?? session), owner: ada }, 'changed');
          else await store.sessions.end(session.session_id);
        }
        expect(await live(await beginMany(18, { client: 'c' }))).toHaveLength(18);
        test.advance(HOUR);
        await sweepAll();
        expect(await live(await beginMany(18, { client: 'c' }))).toHaveLength(18);
      });

      it('stay within the bound after a restart, and beside administrators', async () => {
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

    describe('traces', () => {
      it('finds a trace by turn, request, session and message, also with the channel before the message', async () => {
        const trace = aTrace(null, { session_id: 's:1', message_id: 'C1:17.5', platform: 'chat' });
        await store.traces.keep(trace);
        for (const id of [trace.turn_id, trace.request_id, 's:1', 'C1:17.5', 'chat:C1:17.5']) {
          expect(await store.traces.find(id), id).toEqual([trace]);
        }
        for (const id of ['other:C1:17.5', 'C1', '17.5', '', ':', 'chat:']) {
          expect(await store.traces.find(id), id).toEqual([]);
        }
      });

      it('answers with the oldest first, and with the newest 200 of many', async () => {
        await Promise.all(
          Array.from({ length: 205 }, (_, index) =>
            store.traces.keep(aTrace(null, { session_id: 's', started_at: index })),
          ),
        );
        const found = await store.traces.find('s');
        expect(found.map(({ started_at }) => started_at)).toEqual(
          Array.from({ length: 200 }, (_, i) => i + 5),
        );
      });

      it('deletes what is older than the retention', async () => {
        await store.traces.keep(aTrace(null, { session_id: 'old' }));
        test.advance(WANTED.traceRetentionMs - 1);
        await store.traces.keep(aTrace(null, { session_id: 'new' }));
        await sweepAll();
        expect(await store.traces.find('old')).toHaveLength(1);
        test.advance(1);
        await sweepAll();
        expect(await store.traces.find('old')).toEqual([]);
        expect(await store.traces.find('new')).toHaveLength(1);
      });

      it('keeps the newest where there are too many', async () => {
        const many = Array.from({ length: WANTED.tracesMax + 7 }, (_, index) =>
          aTrace(null, { message_id: `m${index}` }),
        );
        await Promise.all(many.map((trace) => store.traces.keep(trace)));
        expect(await sweepAll()).toBe(7);
        expect(await store.traces.find('m6')).toEqual([]);
        expect(await store.traces.find('m7')).toHaveLength(1);
        expect(await store.traces.find(`m${WANTED.tracesMax + 6}`)).toHaveLength(1);
      });
    });

    describe('traces of refused requests', () => {
      it('are found as others are, beside them, oldest first', async () => {
        const [kept, refused] = [aTrace(null, { message_id: 'm' }), aTrace(null, { message_id: 'm' })];
        await store.traces.keepRefused(refused);
        test.advance(1);
        await store.traces.keep(kept);
        expect(await store.traces.find('m')).toEqual([refused, kept]);
        expect(await store.traces.find(refused.request_id)).toEqual([refused]);
      });

      it('push out only each other, however many they are', async () => {
        const person = aTrace(null, { message_id: 'of a person' });
        await store.traces.keep(person);
        const many = Array.from({ length: WANTED.tracesMax + WANTED.refusedMax + 3 }, (_, index) =>
          aTrace(null, { message_id: `m${index}` }),
        );
        await Promise.all(many.map((trace) => store.traces.keepRefused(trace)));
        await sweepAll();
        expect(await store.traces.find('of a person')).toEqual([person]);
        expect(await store.traces.find(`m${WANTED.tracesMax + 2}`)).toEqual([]);
        expect(await store.traces.find(`m${WANTED.tracesMax + 3}`)).toHaveLength(1);
      });

      it('are deleted when they are older than the retention', async () => {
        await store.traces.keepRefused(aTrace(null, { message_id: 'old' }));
        test.advance(WANTED.traceRetentionMs);
        await sweepAll();
        expect(await store.traces.find('old')).toEqual([]);
      });
    });

    describe('leases', () => {
      it('has one holder at a time, in order of asking', async () => {
        const order: string[] = [];
        const first = await store.leases.acquire('s', never());
        const others = ['a', 'b', 'c'].map(async (who) => {
          const lease = await store.leases.acquire('s', never());
          order.push(`${who} in`);
          await store.check();
          order.push(`${who} out`);
          await lease.release();
        });
        await store.check();
        expect(order).toEqual([]);
        await first.release();
        await Promise.all(others);
        expect(order).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
      });

      it('lets different keys be held at once', async () => {
        const leases = await Promise.all(['a', 'b'].map((key) => store.leases.acquire(key, never())));
        expect(leases.map(({ lost }) => lost.aborted)).toEqual([false, false]);
        await Promise.all(leases.map((lease) => lease.release()));
      });

      it('lets one that waits give up with the reason of its signal, and the next one take its place', async () => {
        const first = await store.leases.acquire('s', never());
        const impatient = new AbortController();
        const second = store.leases.acquire('s', impatient.signal);
        const third = store.leases.acquire('s', never());
        impatient.abort(new Error('waited too long'));
        await expect(second).rejects.toThrow('waited too long');
        await first.release();
        await (await third).release();
        await (await store.leases.acquire('s', never())).release();
      });

      it('refuses a signal that has aborted before', async () => {
        await expect(store.leases.acquire('s', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
        await (await store.leases.acquire('s', never())).release();
      });

      it('takes a second release for nothing', async () => {
        const first = await store.leases.acquire('s', never());
        await first.release();
        const second = await store.leases.acquire('s', never());
        await first.release();
        const third = store.leases.acquire('s', AbortSignal.timeout(20));
        await expect(third).rejects.toThrow('timeout');
        await second.release();
      });
    });

    describe('limits', () => {
      const limit = { max: 3, window_ms: 1000 };

      it('lets the allowed number through and refuses the next one', async () => {
        const states = [];
        for (let hit = 0; hit < 4; hit++) {
          states.push(await store.limits.hit('k', limit));
          test.advance(100);
        }
        expect(states).toEqual([
          { allowed: true, remaining: 2, retry_after_ms: 0, reset_ms: 1000 },
          { allowed: true, remaining: 1, retry_after_ms: 0, reset_ms: 1000 },
          { allowed: true, remaining: 0, retry_after_ms: 800, reset_ms: 1000 },
          { allowed: false, remaining: 0, retry_after_ms: 700, reset_ms: 900 },
        ]);
      });

      it('counts keys apart', async () => {
        for (let hit = 0; hit < 3; hit++) await store.limits.hit('k', limit);
        expect((await store.limits.hit('k', limit)).allowed).toBe(false);
        expect((await store.limits.hit('K', limit)).allowed).toBe(true);
      });

      it('does not count what it refuses', async () => {
        for (let hit = 0; hit < 3; hit++) await store.limits.hit('k', limit);
        test.advance(999);
        for (let hit = 0; hit < 5; hit++) expect((await store.limits.hit('k', limit)).allowed).toBe(false);
        test.advance(1);
        expect(await store.limits.hit('k', limit)).toMatchObject({ allowed: true, remaining: 2 });
      });

      it('slides: a hit counts until exactly one window has passed', async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 25 }),
            fc.integer({ min: 1, max: 5 }),
            async (pauses, max) => {
              const key = randomUUID();
              let hits: number[] = [];
              for (const pause of pauses) {
                test.advance(pause);
                hits = hits.filter((at) => at > test.now() - 1000);
                const allowed = hits.length < max;
                if (allowed) hits.push(test.now());
                const frees = hits.at(-max);
                expect(await store.limits.hit(key, { max, window_ms: 1000 })).toEqual({
                  allowed,
                  remaining: max - hits.length,
                  retry_after_ms: frees === undefined ? 0 : frees + 1000 - test.now(),
                  reset_ms: (hits.at(-1) ?? 0) + 1000 - test.now(),
                });
              }
            },
          ),
          { numRuns: 40 },
        );
      });

      it('obeys a limit that was lowered since', async () => {
        for (let hit = 0; hit < 3; hit++) {
          await store.limits.hit('k', limit);
          test.advance(100);
        }
        expect(await store.limits.hit('k', { max: 2, window_ms: 1000 })).toEqual({
          allowed: false,
          remaining: 0,
          retry_after_ms: 800,
          reset_ms: 900,
        });
      });

      it('never lets more through, however many ask at once and from wherever', async () => {
        const other = await test.beside();
        const states = await Promise.all(
          Array.from({ length: 40 }, (_, index) => (index % 2 ? store : other).limits.hit('k', limit)),
        );
        expect(states.filter(({ allowed }) => allowed)).toHaveLength(3);
      });

      it('deletes hits that are over', async () => {
        for (let hit = 0; hit < 3; hit++) await store.limits.hit('k', limit);
        expect(await sweepAll()).toBe(0);
        test.advance(999);
        await store.limits.hit('k', limit);
        expect(await sweepAll()).toBe(0);
        test.advance(1);
        await store.limits.hit('k', limit);
        await sweepAll();
        expect((await store.limits.hit('k', limit)).remaining).toBe(1);
        test.advance(1000);
        expect(await sweepAll()).toBeGreaterThan(0);
        expect(await sweepAll()).toBe(0);
      });
    });

    describeClock(() => test);
    describeGuard(() => test);

    describe('idempotency', () => {
      const answer = { session_id: 's', response: 'hello' };

      it('gives a new key to the first, tells the others that it runs, and then the answer', async () => {
        expect(await store.idempotency.claim('k', 'body')).toEqual({ outcome: 'new' });
        expect(await store.idempotency.claim('k', 'body')).toEqual({ outcome: 'running' });
        await store.idempotency.finish('k', answer, HOUR);
        expect(await store.idempotency.claim('k', 'body')).toEqual({ outcome: 'done', answer });
      });

      it('shows what a claim would find, and claims nothing', async () => {
        const look = () => store.idempotency.look('k', 'body');
        expect(await look()).toEqual({ outcome: 'new' });
        expect(await look()).toEqual({ outcome: 'new' });
        await store.idempotency.claim('k', 'body');
        expect(await look()).toEqual({ outcome: 'running' });
        expect(await store.idempotency.look('k', 'another')).toEqual({ outcome: 'other_body' });
        await store.idempotency.finish('k', answer, HOUR);
        expect(await look()).toEqual({ outcome: 'done', answer });
        expect(await store.idempotency.look('k', 'another')).toEqual({ outcome: 'other_body' });
      });

      it('claims a key once, however many ask at once', async () => {
        const claims = await Promise.all(
          Array.from({ length: 20 }, () => store.idempotency.claim('k', 'body')),
        );
        expect(claims.filter(({ outcome }) => outcome === 'new')).toHaveLength(1);
        expect(claims.filter(({ outcome }) => outcome === 'running')).toHaveLength(19);
      });

      it('recognises another body under a known key, running or done', async () => {
        await store.idempotency.claim('k', 'body');
        expect(await store.idempotency.claim('k', 'another')).toEqual({ outcome: 'other_body' });
        await store.idempotency.finish('k', answer, HOUR);
        expect(await store.idempotency.claim('k', 'another')).toEqual({ outcome: 'other_body' });
        expect(await store.idempotency.claim('other key', 'another')).toEqual({ outcome: 'new' });
      });

      it('lets a request that was released be repeated, and keeps an answer that is there', async () => {
        await store.idempotency.claim('k', 'body');
        await store.idempotency.release('k');
        expect(await store.idempotency.claim('k', 'other body')).toEqual({ outcome: 'new' });
        await store.idempotency.finish('k', answer, HOUR);
        await store.idempotency.release('k');
        expect(await store.idempotency.claim('k', 'other body')).toEqual({ outcome: 'done', answer });
      });

      it('forgets an answer when its time has passed', async () => {
        await store.idempotency.claim('k', 'body');
        await store.idempotency.finish('k', answer, HOUR);
        test.advance(HOUR);
        expect(await store.idempotency.claim('k', 'another')).toEqual({ outcome: 'new' });
        await store.idempotency.finish('k', { session_id: 's2', response: 'again' }, HOUR);
        expect(await store.idempotency.claim('k', 'another')).toMatchObject({ outcome: 'done' });
        test.advance(HOUR);
        expect(await sweepAll()).toBe(1);
      });
    });

    describeInbox(() => test);
    describeLinks(() => test);
    describeOutages(() => test);
    describeOutages(() => test);
    describeStreams(() => test);

    describe('as a whole', () => {
      it('says that it can be written', async () => {
        await expect(store.check()).resolves.toBeUndefined();
        expect(await store.examine()).toEqual([]);
        expect(store.description).not.toBe('');
      });

      it('deletes a session at the end of the time that it slid to, not before', async () => {
        const session = await saved();
        test.advance(HOUR / 2);
        await keep(session);
        test.advance(HOUR / 2);
        while ((await store.sweep()) > 0);
        expect(await store.sessions.turns(session.session_id)).toHaveLength(1);
        test.advance(HOUR / 2);
        expect(await store.sweep()).toBe(2);
        expect(await store.sweep()).toBe(0);
      });

      it('deletes a session at the end of its time also where that was shortened', async () => {
        const session = await saved();
        await store.sessions.keepTurn(session.session_id, aTurn(), aTrace(session), HOUR / 4);
        test.advance(HOUR / 4);
        expect(await store.sweep()).toBe(2);
        expect(await store.sweep()).toBe(0);
      });

      it('deletes expired sessions with their turns, in bites of at most 500 rows', async () => {
        const gone = await Promise.all(Array.from({ length: 30 }, () => saved()));
        for (const session of gone) {
          await Promise.all(Array.from({ length: 25 }, (_, n) => keep(session, { text: `turn ${n}` })));
        }
        test.advance(HOUR);
        const stays = await saved();
        await keep(stays);
        const bites: number[] = [];
        for (;;) {
          const bite = await store.sweep();
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

    describe('stored tokens', () => {
      it('are counted by how they begin, those of links, sessions and streams, while they live', async () => {
        const context = (token: string) => ({
          has_jwt: true as const,
          user_id: 'ada',
          email: 'ada@example.com',
          token,
          token_exp: '2030-01-01T00:00:00.000Z',
        });
        expect(await store.countTokens('')).toBe(0);
        await saved();
        await saved({ metadata: { jwt_context: context('one.x') }, bound: { user_id: 'u1', person: ada } });
        await saved({ metadata: { jwt_context: context('two.x') }, bound: { user_id: 'u1', person: ada } });
        await store.links.put({ key: 'chat:jwt:u1', token: 'one.y', person: ada, ttl_ms: 2 * HOUR }, null);
        await store.streams.create(aStream({ token: 'one.z', ttl_ms: HOUR / 2 }));
        await store.streams.create(aStream());
        expect(await store.countTokens('')).toBe(4);
        expect(await store.countTokens('one.')).toBe(3);
        expect(await store.countTokens('one.y')).toBe(1);
        expect(await store.countTokens('%')).toBe(0);
        test.advance(HOUR / 2);
        expect(await store.countTokens('one.')).toBe(2);
        test.advance(HOUR / 2);
        expect(await store.countTokens('')).toBe(1);
      });
    });

    /** Saves a new session that lives for an hour. */
    async function saved(members: Partial<Session> = {}): Promise<Session> {
      const session = aSession(test.now(), members);
      expect(await store.sessions.save(session, 'new')).toBe(true);
      return session;
    }

    /** Keeps a turn in a session. @returns its trace. */
    async function keep(session: Session, members: Partial<StoredTurn> = {}): Promise<TraceRecord> {
      const trace = aTrace(session);
      expect(await store.sessions.keepTurn(session.session_id, aTurn(members), trace, HOUR)).toBe(true);
      return trace;
    }

    async function sweepAll(): Promise<number> {
      let all = 0;
      for (let bite = await store.sweep(); bite > 0; bite = await store.sweep()) all += bite;
      return all;
    }
  });
}

function never(): AbortSignal {
  return new AbortController().signal;
}
