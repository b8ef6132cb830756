import { beforeEach, describe, expect, it } from 'vitest';
import { CLAIM_MS, type KeyClaim } from '../../src/daemon/store/claims/claims.ts';
import { type IdempotencyStore, KEY_MEMORY_MS } from '../../src/daemon/store/idempotency.ts';
import { anAction, aTrace } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, claimSession, commitUnderClaim, sweepAll, sweepExpired } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;

/** The contract of the port `idempotency`. */
export function describeIdempotency(current: () => StoreUnderTest): void {
  describe('idempotency', () => {
    const answer = { session_id: 's', response: 'hello' };
    let test: StoreUnderTest;
    let keys: IdempotencyStore;
    /** Those of another daemon. */
    let others: IdempotencyStore;

    beforeEach(async () => {
      test = current();
      keys = test.store.idempotency;
      others = (await test.another()).idempotency;
    });

    const claimed = async (key = 'k', fingerprint = 'body', at = keys): Promise<KeyClaim> => {
      const found = await at.claim(key, fingerprint);
      if (found.outcome !== 'new') throw new Error(`the key is ${found.outcome}`);
      return found.claim;
    };

    it('lets the first caller claim a new key, and gives the stored answer to later callers', async () => {
      const claim = await claimed();
      expect(claim).toMatchObject({ key: 'k', fingerprint: 'body' });
      expect(await others.claim('k', 'body')).toEqual({ outcome: 'running' });
      expect(await keys.finish(claim, answer, HOUR)).toBe(true);
      expect(await others.claim('k', 'body')).toEqual({ outcome: 'done', answer });
    });

    it('stores the answer of a turn in the same commit as the turn', async () => {
      const claim = await claimed();
      const changes = { trace: aTrace(null), answer: { claim, answer, ttl_ms: HOUR } };
      expect(await commitUnderClaim(test.store, 's', changes)).toBe('committed');
      expect(await keys.claim('k', 'body')).toEqual({ outcome: 'done', answer });
      expect(await keys.claim('k', 'another')).toEqual({ outcome: 'other_body' });
    });

    it('looks up what a claim would find, without claiming the key', async () => {
      const look = () => keys.look('k', 'body');
      expect(await look()).toEqual({ outcome: 'new' });
      expect(await look()).toEqual({ outcome: 'new' });
      const claim = await claimed();
      expect(await look()).toEqual({ outcome: 'running' });
      expect(await keys.look('k', 'another')).toEqual({ outcome: 'other_body' });
      await keys.finish(claim, answer, HOUR);
      expect(await look()).toEqual({ outcome: 'done', answer });
      expect(await keys.look('k', 'another')).toEqual({ outcome: 'other_body' });
    });

    it('gives a claim to only one caller, however many ask at once', async () => {
      const claims = await callBoth(test, 20, ({ idempotency }) => idempotency.claim('k', 'body'));
      expect(claims.filter(({ outcome }) => outcome === 'new')).toHaveLength(1);
      expect(claims.filter(({ outcome }) => outcome === 'running')).toHaveLength(19);
    });

    it('recognizes a different body under a known key, running or done', async () => {
      const claim = await claimed();
      expect(await keys.claim('k', 'another')).toEqual({ outcome: 'other_body' });
      await keys.finish(claim, answer, HOUR);
      expect(await keys.claim('k', 'another')).toEqual({ outcome: 'other_body' });
      expect(await keys.claim('other key', 'another')).toMatchObject({ outcome: 'new' });
    });

    it('lets a request be repeated after its key was released, but keeps an answer that is stored', async () => {
      await keys.release(await claimed());
      const claim = await claimed('k', 'body', others);
      await others.finish(claim, answer, HOUR);
      await others.release(claim);
      expect(await keys.claim('k', 'body')).toEqual({ outcome: 'done', answer });
    });

    it('remembers whether the loop guard has counted a request that was released, for KEY_MEMORY_MS', async () => {
      await keys.release(await claimed());
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'new' });
      await keys.release(await claimed(), { counted: true });
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'new', counted: true });
      const found = await keys.claim('k', 'body');
      expect(found).toMatchObject({ outcome: 'new', counted: true });
      if (found.outcome === 'new') await keys.release(found.claim, { counted: true });
      test.advance(KEY_MEMORY_MS - 1);
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'new', counted: true });
      test.advance(1);
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'new' });
      const stale = await claimed('other');
      test.advance(CLAIM_MS);
      await claimed('other');
      await keys.release(stale, { counted: true });
      expect(await keys.look('other', 'body')).toEqual({ outcome: 'running' });
    });

    it('recognizes a different body after a request that was released, for KEY_MEMORY_MS', async () => {
      await keys.release(await claimed());
      test.advance(KEY_MEMORY_MS - 1);
      expect(await keys.look('k', 'another')).toEqual({ outcome: 'other_body' });
      expect(await keys.claim('k', 'another')).toEqual({ outcome: 'other_body' });
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'new' });
      test.advance(1);
      expect(await keys.claim('k', 'another')).toMatchObject({ outcome: 'new' });
    });

    it('recognizes a different body after the process died, if the first request had begun to write', async () => {
      const key = await claimed();
      const session = await claimSession(test.store, 's');
      await test.store.actions.start({ session, key }, anAction({ session_tag: 's' }));
      expect(await keys.renew(key)).toBe(true);
      keys = (await test.restart()).idempotency;
      test.advance(CLAIM_MS);
      expect(await keys.claim('k', 'another')).toEqual({ outcome: 'other_body' });
      const again = await claimed();
      expect(await keys.finish(again, answer, HOUR)).toBe(true);
      expect(await keys.claim('k', 'body')).toEqual({ outcome: 'done', answer });
    });

    it('treats a claim that was not renewed for CLAIM_MS as absent', async () => {
      const claim = await claimed();
      test.advance(CLAIM_MS - 1);
      expect(await keys.renew(claim)).toBe(true);
      test.advance(CLAIM_MS - 1);
      expect(await others.look('k', 'body')).toEqual({ outcome: 'running' });
      test.advance(1);
      expect(await others.look('k', 'body')).toEqual({ outcome: 'new' });
      expect(await others.look('k', 'another')).toEqual({ outcome: 'other_body' });
      const next = await claimed('k', 'body', others);
      expect(await keys.renew(claim)).toBe(false);
      expect(await others.renew(next)).toBe(true);
    });

    it('lets the owner of an expired claim continue until another caller takes the claim over', async () => {
      const claim = await claimed();
      test.advance(CLAIM_MS);
      expect(await keys.renew(claim)).toBe(true);
      expect(await others.claim('k', 'body')).toEqual({ outcome: 'running' });
      test.advance(CLAIM_MS);
      expect(await keys.finish(claim, answer, HOUR)).toBe(true);
      expect(await keys.look('k', 'body')).toMatchObject({ outcome: 'done' });
    });

    it('refuses every write under a claim that was taken over, released or answered', async () => {
      const stale = await claimed();
      test.advance(CLAIM_MS);
      const next = await claimed('k', 'body', others);
      const refused = async (claim: KeyClaim) => {
        expect(await keys.renew(claim)).toBe(false);
        expect(await keys.finish(claim, { ...answer, response: 'stale' }, HOUR)).toBe(false);
        const changes = { trace: aTrace(null), answer: { claim, answer, ttl_ms: HOUR } };
        expect(await commitUnderClaim(test.store, 's', changes)).toBe('lost');
        await keys.release(claim);
      };
      await refused(stale);
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'running' });
      expect(await keys.finish(next, answer, HOUR)).toBe(true);
      await refused(next);
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'done', answer });
      const released = await claimed('other key');
      await keys.release(released);
      await refused(released);
      expect(await keys.look('other key', 'body')).toEqual({ outcome: 'new' });
    });

    it('lets a request be repeated after its process died', async () => {
      await claimed();
      keys = (await test.restart()).idempotency;
      test.advance(CLAIM_MS);
      expect(await keys.claim('k', 'body')).toMatchObject({ outcome: 'new' });
    });

    it('forgets an expired answer', async () => {
      await keys.finish(await claimed(), answer, HOUR);
      test.advance(HOUR - 1);
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'done', answer });
      test.advance(1);
      const again = { session_id: 's2', response: 'again' };
      await keys.finish(await claimed('k', 'another'), again, HOUR);
      expect(await keys.claim('k', 'another')).toEqual({ outcome: 'done', answer: again });
      test.advance(HOUR);
      await sweepAll(test.store);
      expect(await keys.look('k', 'body')).toEqual({ outcome: 'new' });
    });

    it('deletes expired answers', async ({ skip }) => {
      skip(test.store.maintenance === null, 'this backend needs no sweep');
      await keys.finish(await claimed(), answer, HOUR);
      test.advance(HOUR);
      expect(await sweepExpired(test)).toBe(1);
    });
  });
}
