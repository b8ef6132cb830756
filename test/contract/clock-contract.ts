import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { guardUser } from '../../src/daemon/message/keys.ts';
import { CLAIM_MS } from '../../src/daemon/store/claims/claims.ts';
import { CODES_MAX, WRONG_MAX } from '../../src/daemon/store/links/link-codes.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada, anInboxMessage, aSession, aStream, GUARD_LIMITS } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { claimSession, saveSession, sweepAll } from './store-writes.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });

/** Checks that no wait is longer than its maximum, even after the clock was set back. */
export function describeClock(current: () => StoreUnderTest): void {
  describe.each([
    { how: 'is set back by a second', ahead: 0, back: SECOND },
    { how: 'is set back by an hour', ahead: 0, back: HOUR },
    { how: 'was a day ahead and is corrected', ahead: DAY, back: DAY },
  ])('a clock that $how', ({ ahead, back }) => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(() => {
      test = current();
      store = test.store;
      test.advance(ahead);
    });

    const say = (session_id: string, limits = GUARD_LIMITS) =>
      store.guard.check({ user, session_id, text: randomUUID(), message_id: null, sent_at: null }, limits);

    it('does not make a request wait for longer than the window', async () => {
      const limit = { max: 2, window_ms: 60 * SECOND };
      for (let n = 0; n < 2; n++) await store.limits.hit('k', limit);
      test.advance(-back);
      const { retry_after_ms, reset_ms } = await store.limits.hit('k', limit);
      expect(retry_after_ms).toBeLessThanOrEqual(limit.window_ms);
      expect(reset_ms).toBeLessThanOrEqual(limit.window_ms);
      test.advance(limit.window_ms);
      expect(await store.limits.hit('k', limit)).toMatchObject({ allowed: true });
    });

    it('does not keep a circuit open for longer than the cooldown', async () => {
      for (let n = 0; n < GUARD_LIMITS.max_messages; n++) await say('s');
      expect(await say('s')).toMatchObject({ allowed: false, reason: 'rate_limit' });
      test.advance(-back);
      for (const { open_until } of (await store.guard.list()).circuits)
        expect(open_until - test.now()).toBeLessThanOrEqual(GUARD_LIMITS.cooldown_ms);
      const verdict = await say('s');
      if (!verdict.allowed && verdict.reason !== 'turn_limit')
        expect(verdict.retry_after_ms).toBeLessThanOrEqual(GUARD_LIMITS.cooldown_ms);
      test.advance(GUARD_LIMITS.cooldown_ms);
      expect(await say('s')).toMatchObject({ allowed: true });
    });

    it('does not keep a session at its turn limit for longer than the session lives', async () => {
      const limits = { ...GUARD_LIMITS, max_turns: 1, session_ttl_ms: HOUR };
      const session = aSession(test.now());
      const { session_id } = session;
      await saveSession(store, session);
      expect(await say(session_id, limits)).toMatchObject({ allowed: true });
      test.advance(-back);
      const verdict = await say(session_id, limits);
      expect(verdict).toMatchObject({ allowed: false, reason: 'turn_limit' });
      if (!verdict.allowed && verdict.reason === 'turn_limit')
        expect(verdict.ends_at - test.now()).toBeLessThanOrEqual(HOUR);
      await store.check();
      test.advance(HOUR);
      expect(await store.sessions.find(session_id)).toBeNull();
      expect(await say(session_id, limits)).toMatchObject({ allowed: true });
    });

    it('does not delay a message for longer than it was postponed', async () => {
      const entry = (id: string, queue: string) => anInboxMessage({ id, queue, session_id: queue });
      await store.inbox.enqueue([entry('put off', 'one'), entry('fresh', 'two')]);
      const [claim] = await store.inbox.claim('run', ['chat'], 1);
      if (!claim) throw new Error('nothing was claimed');
      const again = { kind: 'again', wait_ms: 60 * SECOND, failure: 'x', counts: true } as const;
      expect(await store.inbox.settle(claim, again)).toBe(true);
      test.advance(-back);
      await store.inbox.enqueue([entry('later', 'three')]);
      // If the clock is set back by only one second, the wait may become longer by this second.
      test.advance(61 * SECOND);
      const due = await store.inbox.nextDueAt('run', ['chat']);
      expect(due).toBeLessThanOrEqual(test.now());
      const claims = await store.inbox.claim('run', ['chat'], 10);
      expect(claims.map(({ message }) => message.id).sort()).toEqual(['fresh', 'later', 'put off']);
    });

    it('does not delay a probe of a platform for longer than the requested wait', async () => {
      await store.outages.note('chat', 'unreachable', 'status 503', 60 * SECOND);
      test.advance(-back);
      test.advance(61 * SECOND);
      const [outage] = await store.outages.list();
      expect(outage?.probe_at).toBeLessThanOrEqual(test.now());
      expect(await store.outages.takeProbe('chat', SECOND)).toBe(true);
    });

    it('does not make a caller wait for a claim for longer than CLAIM_MS', async () => {
      await claimSession(store, 's');
      await store.idempotency.claim('k', 'body');
      test.advance(-back);
      expect(await store.sessions.claim('s')).toBeNull();
      expect(await store.idempotency.look('k', 'body')).toEqual({ outcome: 'running' });
      test.advance(CLAIM_MS);
      expect(await store.sessions.claim('s')).not.toBeNull();
      expect(await store.idempotency.look('k', 'body')).toEqual({ outcome: 'new' });
    });

    it('does not take a claim from an owner who renews it', async () => {
      const claim = await claimSession(store, 's');
      test.advance(-back);
      for (let n = 0; n < 5; n++) {
        expect(await store.sessions.renew(claim)).toBe(true);
        test.advance(CLAIM_MS - 1);
        expect(await store.sessions.claim('s')).toBeNull();
      }
    });

    it('does not keep a person from making a link code, or a sender from using one, for longer than otherwise', async () => {
      const { linkCodes } = store;
      const create = () =>
        linkCodes.create({
          ...{ code_id: randomUUID(), code_hash: randomUUID(), person: ada },
          ...{ token: 'token', ttl_ms: 60 * SECOND },
        });
      const sender = { platform: 'chat', user_id: 'u1', alias_id: null, name: null, locale: null };
      const claim = (hash: string) =>
        linkCodes.claim(hash, { ...sender, reply_to: {}, message_id: randomUUID() });
      for (let n = 0; n < CODES_MAX; n++) await create();
      for (let n = 0; n < WRONG_MAX; n++) await claim('wrong');
      test.advance(-back);
      expect(await create()).toMatchObject({ outcome: 'created' });
      expect(await claim('wrong')).toEqual({ outcome: 'unknown' });
    });

    it('does not prevent streams, traces and sweeps from working', async () => {
      const { stream_id } = await store.streams.create(aStream());
      test.advance(-back);
      const claim = await store.streams.claim(stream_id, { owner: null, reader: null });
      if (!claim) throw new Error('the stream was not claimed');
      expect(await store.streams.append(claim, [{ id: 1, event: 'stream_complete', data: '{}' }])).toBe(true);
      expect((await store.streams.find(stream_id))?.state).toBe('ended');
      await store.traces.find('x');
      await sweepAll(store);
    });
  });
}
