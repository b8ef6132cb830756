import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { GuardedMessage, GuardLimits } from '../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import type { Session } from '../../src/daemon/session/session.ts';
import type { GuardStore } from '../../src/daemon/store/limits/guard.ts';
import { ada, aSession } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, keepTurn, saveSession, sweepAll } from './store-writes.ts';

const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

const DEFAULTS: GuardLimits = {
  max_messages: 5,
  window_ms: 10 * SECOND,
  cooldown_ms: 30 * SECOND,
  max_turns: 200,
  repeat_threshold: 3,
  repeat_window_ms: 60 * SECOND,
  session_ttl_ms: HOUR,
};

const sender = { platform: 'chat', user_id: 'u1', person: null, address: null };

/** A message of u1 in its own session, with a unique text. */
function aMessage(members: Partial<GuardedMessage> = {}): GuardedMessage {
  return {
    user: guardUser(sender),
    session_id: randomUUID(),
    text: randomUUID(),
    message_id: null,
    sent_at: null,
    ...members,
  };
}

/** The contract of the port `guard`. */
export function describeGuard(current: () => StoreUnderTest): void {
  describe('guard', () => {
    let test: StoreUnderTest;
    let guard: GuardStore;

    beforeEach(() => {
      test = current();
      guard = test.store.guard;
    });

    const check = (members: Partial<GuardedMessage> = {}, limits: Partial<GuardLimits> = {}) =>
      guard.check(aMessage(members), { ...DEFAULTS, ...limits });

    const checks = async (count: number, members: Partial<GuardedMessage> = {}) => {
      const allowed: boolean[] = [];
      for (let n = 0; n < count; n++) allowed.push((await check(members)).allowed);
      return allowed;
    };

    describe('a message that does not count', () => {
      it('passes any number of times, and leaves the windows and the turns as they are', async () => {
        const session_id = randomUUID();
        for (let n = 0; n < 20; n++)
          expect(await check({ text: null, session_id }, { max_turns: 1 })).toMatchObject({ allowed: true });
        expect(await check({ session_id }, { max_turns: 1 })).toEqual({
          ...{ allowed: true, repeated: false, messages: 1, equal_texts: 1, turns: 1 },
        });
        expect(await check({ text: null, session_id }, { max_turns: 1 })).toEqual({
          ...{ allowed: true, repeated: false, messages: 1, equal_texts: 0, turns: 1 },
        });
      });

      it('is blocked while the circuit is open, and gets the same verdict if it is delivered again', async () => {
        await checks(6);
        const press = { text: null, message_id: 'p1' };
        expect(await check(press)).toMatchObject({ allowed: false, reason: 'rate_limit', blocked: 2 });
        test.advance(30 * SECOND);
        expect(await check(press)).toMatchObject({ allowed: false, repeated: true });
        expect(await check({ text: null, message_id: 'p2' })).toMatchObject({ allowed: true });
        expect(await check({ text: null, message_id: 'p2' })).toMatchObject({
          allowed: true,
          repeated: true,
        });
      });
    });

    describe('answers to a question', () => {
      it('count from the second one on: only the first answers it', async () => {
        const session_id = randomUUID();
        const counts = (messages: number, turns: number, equal_texts = messages) => ({
          ...{ allowed: true, repeated: false, messages, equal_texts, turns },
        });
        const answer = { answers: 'q1', text: 'yes', session_id };
        expect(await check(answer)).toEqual(counts(0, 0));
        expect(await check({ ...answer, text: 'no' })).toEqual(counts(1, 1));
        expect(await check(answer)).toEqual(counts(2, 2, 1));
        expect(await check({ ...answer, answers: 'q2' })).toMatchObject({ equal_texts: 0, turns: 2 });
        expect(await check(answer)).toMatchObject({ turns: 3 });
        // Nobody has more open questions.
        for (let n = 3; n <= 20; n++)
          expect(await check({ ...answer, answers: `q${n}` })).toMatchObject({ turns: 3 });
        expect(await check({ ...answer, answers: 'q21', text: 'ok' })).toMatchObject({ turns: 4 });
      });
    });

    describe('requests with one key', () => {
      const request = 'a key';

      it('counts them once, even if they arrive at the same time', async () => {
        const session_id = randomUUID();
        const same = { request, session_id, text: 'the same' };
        const verdicts = await Promise.all(Array.from({ length: 10 }, () => check(same)));
        expect(verdicts.filter(({ repeated }) => !repeated)).toEqual([
          { allowed: true, repeated: false, messages: 1, equal_texts: 1, turns: 1 },
        ]);
        expect(verdicts.every(({ allowed }) => allowed)).toBe(true);
        expect(await check({ session_id })).toMatchObject({ messages: 2, turns: 2 });
      });

      it('checks a request again that was blocked', async () => {
        await checks(6);
        expect(await check({ request })).toMatchObject({ allowed: false, reason: 'rate_limit', blocked: 2 });
        test.advance(30 * SECOND);
        expect(await check({ request })).toMatchObject({ allowed: true, repeated: false, messages: 1 });
        expect(await check({ request })).toMatchObject({ allowed: true, repeated: true });

        const session_id = randomUUID();
        const over = { session_id, request: 'another key' };
        await check({ session_id }, { max_turns: 1 });
        for (let n = 0; n < 2; n++)
          expect(await check(over, { max_turns: 1 })).toMatchObject({ allowed: false, reason: 'turn_limit' });
      });

      it('counts the same key of another user', async () => {
        await check({ request });
        const other = guardUser({ ...sender, user_id: 'u2' });
        expect(await check({ request, user: other })).toMatchObject({ repeated: false, messages: 1 });
      });
    });

    describe('burst', () => {
      it('allows 5 messages within 10 s; the 6th opens the circuit and is blocked', async () => {
        for (let messages = 1; messages <= 5; messages++) {
          expect(await check()).toEqual({
            allowed: true,
            repeated: false,
            messages,
            equal_texts: 1,
            turns: 1,
          });
          test.advance(SECOND);
        }
        expect(await check()).toEqual({
          allowed: false,
          repeated: false,
          reason: 'rate_limit',
          opened: true,
          count: 6,
          max: 5,
          blocked: 1,
          retry_after_ms: 30 * SECOND,
        });
      });

      it('blocks for exactly the cooldown, counts the blocked messages, and then starts again at 0', async () => {
        await checks(6);
        test.advance(30 * SECOND - 1);
        expect(await check()).toEqual({
          allowed: false,
          repeated: false,
          reason: 'rate_limit',
          opened: false,
          count: 6,
          max: 5,
          blocked: 2,
          retry_after_ms: 1,
        });
        test.advance(1);
        expect(await checks(6)).toEqual([true, true, true, true, true, false]);
      });

      it('counts each user of each channel separately', async () => {
        const others = [
          guardUser({ ...sender, platform: 'other' }),
          guardUser({ ...sender, user_id: 'u2' }),
          guardUser({ ...sender, person: ada }),
          guardUser({ ...sender, address: '192.0.2.1' }),
          guardUser({ ...sender, address: '192.0.2.2' }),
        ];
        expect(await checks(6)).toContain(false);
        for (const user of others) {
          expect(await checks(5, { user }), user.key).toEqual([true, true, true, true, true]);
        }
      });

      it('allows exactly 5 of 100 messages checked at once, by two daemons if the backend allows two', async () => {
        const verdicts = await callBoth(test, 100, (store) => store.guard.check(aMessage(), DEFAULTS));
        expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(5);
        expect(verdicts.filter((verdict) => 'opened' in verdict && verdict.opened)).toHaveLength(1);
        const counts = verdicts.flatMap((verdict) => (verdict.allowed ? [] : [verdict.blocked]));
        expect(counts.sort((a, b) => a - b)).toEqual(Array.from({ length: 95 }, (_, n) => n + 1));
      });
    });

    describe('turns', () => {
      const limits = { max_messages: 1000, repeat_threshold: 1000, max_turns: 3 };
      const turn = (session_id: string, members: Partial<GuardedMessage> = {}) =>
        check({ session_id, ...members }, limits);

      it('allows as many turns of a session as configured, for all people in it together', async () => {
        const bob = guardUser({ ...sender, user_id: 'bob' });
        expect(await turn('s')).toMatchObject({ allowed: true, turns: 1 });
        expect(await turn('s', { user: bob })).toMatchObject({ allowed: true, turns: 2 });
        expect(await turn('s')).toMatchObject({ allowed: true, turns: 3 });
        expect(await turn('s', { user: bob })).toEqual({
          allowed: false,
          repeated: false,
          reason: 'turn_limit',
          first: true,
          turns: 3,
          max: 3,
          blocked: 1,
          ends_at: test.now() + HOUR,
        });
        expect(await turn('s')).toMatchObject({ reason: 'turn_limit', first: false, turns: 3, blocked: 2 });
        expect(await turn('another')).toMatchObject({ allowed: true, turns: 1 });
      });

      it('allows exactly the configured number of turns, however many messages are checked at once', async () => {
        const verdicts = await callBoth(test, 40, (store, n) => {
          const user = guardUser({ ...sender, user_id: String(n) });
          return store.guard.check(aMessage({ session_id: 's', user }), { ...DEFAULTS, ...limits });
        });
        expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(3);
        expect(verdicts.filter((verdict) => 'first' in verdict && verdict.first)).toHaveLength(1);
      });

      it('counts from 0 again when the session was ended', async () => {
        const { session_id } = await saved();
        await Promise.all(Array.from({ length: 4 }, () => turn(session_id)));
        expect((await turn(session_id)).allowed).toBe(false);
        await test.store.sessions.end(session_id);
        expect(await turn(session_id)).toMatchObject({ allowed: true, turns: 1 });
      });

      it('keeps the count exactly as long as the session lives, however often its expiry is extended', async () => {
        const session = await saved();
        for (let n = 0; n < 3; n++) {
          expect((await turn(session.session_id)).allowed).toBe(true);
          test.advance(HOUR - 1);
          await keepTurn(test.store, session);
        }
        test.advance(HOUR - 1);
        const last = { allowed: false, turns: 3, ends_at: test.now() + 1 };
        expect(await turn(session.session_id)).toMatchObject(last);
        test.advance(1);
        expect(await turn(session.session_id)).toMatchObject({ allowed: true, turns: 1 });
      });

      it('ends the count when the session expires, even if the expiry was moved to an earlier time', async () => {
        const session = await saved();
        await turn(session.session_id);
        await keepTurn(test.store, session, {}, HOUR / 4);
        test.advance(HOUR / 4);
        expect(await turn(session.session_id)).toMatchObject({ turns: 1 });
      });

      it('keeps the count of turns of an id when a new session with this id is saved', async () => {
        const { session_id } = await saved();
        await turn(session_id);
        test.advance(HOUR);
        expect(await turn(session_id)).toMatchObject({ turns: 1 });
        await saveSession(test.store, aSession(test.now(), { session_id }));
        expect(await turn(session_id)).toMatchObject({ turns: 2 });
      });

      it('subtracts a turn that did not run', async () => {
        for (let n = 0; n < 3; n++) await turn('s');
        await guard.giveBackTurn('s');
        expect(await turn('s')).toMatchObject({ allowed: true, turns: 3 });
        expect((await turn('s')).allowed).toBe(false);
        await guard.giveBackTurn('unknown');
      });

      it('counts a message that exceeds the turn limit toward the rate limit of its user', async () => {
        for (let n = 0; n < 3; n++) await check({ session_id: 's' }, { max_turns: 3 });
        for (let n = 0; n < 2; n++) {
          expect(await check({ session_id: 's' }, { max_turns: 3 })).toMatchObject({ reason: 'turn_limit' });
        }
        expect(await check({ session_id: 's' }, { max_turns: 3 })).toMatchObject({ reason: 'rate_limit' });
      });

      it('counts turns by the tag of the session, lists it by its current id, and resets it by either id', async () => {
        const session = await saved();
        const tag = session.session_id;
        for (let n = 0; n < 4; n++) await turn(tag);
        const renamed = { ...session, session_id: randomUUID(), former_id: tag, owner: ada };
        await saveSession(test.store, renamed, 'changed');
        expect((await turn(tag)).allowed).toBe(false);
        expect((await guard.list()).sessions).toMatchObject([{ session_id: renamed.session_id, blocked: 2 }]);
        expect(await guard.resetSession(renamed.session_id)).toBe(true);
        expect(await turn(tag)).toMatchObject({ allowed: true, turns: 1 });
        expect(await guard.resetSession(tag)).toBe(true);
      });

      async function saved(): Promise<Session> {
        const session = aSession(test.now());
        await saveSession(test.store, session);
        return session;
      }
    });

    describe('messages of platforms', () => {
      it('get their first verdict again when they are repeated, and are not counted again', async () => {
        const first = await check({ message_id: 'm1', text: 'a' });
        expect(first).toMatchObject({ allowed: true, repeated: false, messages: 1 });
        for (let n = 0; n < 10; n++) {
          expect(await check({ message_id: 'm1', text: 'a' })).toEqual({ ...first, repeated: true });
        }
        expect(await check({ message_id: 'm2', text: 'a' })).toMatchObject({ messages: 2, equal_texts: 2 });
        await checks(3);
        const blocked = await check({ message_id: 'm3' });
        expect(blocked).toMatchObject({ allowed: false, opened: true });
        test.advance(7 * DAY - 1);
        expect(await check({ message_id: 'm3' })).toEqual({ ...blocked, repeated: true });
        test.advance(1);
        expect(await check({ message_id: 'm3' })).toMatchObject({ allowed: true, repeated: false });
      });

      it('of different platforms may have the same id', async () => {
        await check({ message_id: 'm1' });
        const user = guardUser({ ...sender, platform: 'other' });
        expect(await check({ message_id: 'm1', user })).toMatchObject({ repeated: false });
      });

      it('are judged once if a delivery is repeated while the first delivery is being checked', async () => {
        const message = () => aMessage({ message_id: 'm1' });
        const verdicts = await callBoth(test, 20, (store) => store.guard.check(message(), DEFAULTS));
        expect(verdicts.filter(({ repeated }) => !repeated)).toHaveLength(1);
        expect(verdicts.every(({ allowed }) => allowed)).toBe(true);
      });

      it('with a time in the future count as sent now', async () => {
        const sent_at = test.now() + HOUR;
        expect(await checks(6, { sent_at })).toEqual([true, true, true, true, true, false]);
        test.advance(30 * SECOND);
        expect((await check({ sent_at })).allowed).toBe(true);
      });
    });

    describe('for operators', () => {
      it('lists open circuits with their reasons, newest first, even from an administrator’s command', async () => {
        const person = guardUser({ ...sender, person: ada });
        await checks(8);
        const opened_at = test.now();
        test.advance(SECOND);
        await checks(3, { user: person, text: 'a' });
        await test.store.check();
        const administrator = await test.beside();
        const { circuits, sessions } = await administrator.guard.list();
        expect(circuits).toEqual([
          {
            ...{ platform: 'chat', user_id: 'u1', person: ada, address: null },
            ...{ reason: 'repetition', count: 3, max: 2, blocked: 1 },
            opened_at: opened_at + SECOND,
            open_until: opened_at + 31 * SECOND,
            covers_from: opened_at - 59 * SECOND,
          },
          {
            ...{ platform: 'chat', user_id: 'u1', person: null, address: null },
            ...{ reason: 'rate_limit', count: 6, max: 5, blocked: 3 },
            opened_at,
            open_until: opened_at + 30 * SECOND,
            covers_from: opened_at - 10 * SECOND,
          },
        ]);
        expect(sessions).toEqual([]);
        const stranger = guardUser({ ...sender, user_id: 'stranger' });
        const blocked = () =>
          Promise.all([guardUser(sender), person, stranger].map((user) => guard.isBlocked(user)));
        expect(await blocked()).toEqual([true, true, false]);
        test.advance(29 * SECOND);
        expect((await guard.list()).circuits).toHaveLength(1);
        expect(await blocked()).toEqual([false, true, false]);
        test.advance(SECOND);
        expect((await guard.list()).circuits).toEqual([]);
        expect(await blocked()).toEqual([false, false, false]);
      });

      it('lists sessions in which messages were blocked', async () => {
        for (let n = 0; n < 3; n++) await check({ session_id: 's' }, { max_turns: 1 });
        await check({ session_id: 'other' }, { max_turns: 1 });
        expect((await guard.list()).sessions).toEqual([
          { session_id: 's', turns: 1, blocked: 2, max: 1, ends_at: test.now() + HOUR },
        ]);
        expect((await check({ session_id: 's' }, { max_turns: 2 })).allowed).toBe(true);
        expect((await guard.list()).sessions).toEqual([]);
      });

      it('resets a user of a channel, by user_id or by the `sub` of a token, and nobody else', async () => {
        const person = guardUser({ ...sender, user_id: 'visitor', person: ada });
        const nearly = guardUser({ ...sender, user_id: 'u1"' });
        const elsewhere = guardUser({ ...sender, platform: 'other' });
        const users = [guardUser(sender), person, nearly, elsewhere];
        for (const user of users) await checks(6, { user });
        await test.store.check();
        const administrator = await test.beside();
        expect(await administrator.guard.resetUser('chat', 'u1')).toBe(true);
        expect(await administrator.guard.resetUser('chat', 'ada')).toBe(true);
        expect(await administrator.guard.resetUser('chat', 'nobody')).toBe(false);
        const allowed = await Promise.all(users.map(async (user) => (await check({ user })).allowed));
        expect(allowed).toEqual([true, true, false, false]);
      });

      it('also resets the windows of a user who has no open circuit', async () => {
        await checks(5);
        await check({ text: 'a' }, { max_messages: 100 });
        expect(await guard.resetUser('chat', 'u1')).toBe(true);
        expect(await check({ text: 'a' })).toMatchObject({ messages: 1, equal_texts: 1 });
      });

      it('resets a session without ending it', async () => {
        for (let n = 0; n < 3; n++) await check({ session_id: 's' }, { max_turns: 1 });
        expect(await guard.resetSession('s')).toBe(true);
        expect(await guard.resetSession('s')).toBe(false);
        expect(await check({ session_id: 's' }, { max_turns: 1 })).toMatchObject({ allowed: true, turns: 1 });
        expect(await check({ session_id: 's' }, { max_turns: 1 })).toMatchObject({ first: true });
      });

      it('resets everything, and does not change request limits', async () => {
        const limit = { max: 1, window_ms: HOUR };
        await test.store.limits.hit('http:address:192.0.2.1', limit);
        await checks(6);
        await check({ user: guardUser({ ...sender, user_id: 'u2' }), session_id: 's' }, { max_turns: 1 });
        await guard.resetAll();
        expect(await check({ session_id: 's' })).toMatchObject({ messages: 1, turns: 1 });
        expect(await checks(4)).toEqual([true, true, true, true]);
        expect(await test.store.limits.hit('http:address:192.0.2.1', limit)).toMatchObject({
          allowed: false,
        });
      });
    });

    it('has no records left when all of them have expired', async () => {
      await checks(8, { session_id: 's' });
      await check({ message_id: 'm', session_id: 's2', sent_at: test.now() - HOUR });
      test.advance(7 * DAY);
      const deleted = await sweepAll(test.store);
      if (test.store.maintenance !== null) expect(deleted).toBeGreaterThan(2);
      expect(await check({ session_id: 's' })).toMatchObject({ messages: 1, turns: 1 });
    });
  });
}
