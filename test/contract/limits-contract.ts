import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, sweepAll, sweepExpired } from './store-writes.ts';

/** The contract of the port `limits`. */
export function describeLimits(current: () => StoreUnderTest): void {
  describe('limits', () => {
    let test: StoreUnderTest;
    let store: Store;
    const limit = { max: 3, window_ms: 1000 };

    beforeEach(() => {
      test = current();
      store = test.store;
    });

    it('allows as many hits as the limit, and refuses the next hit', async () => {
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

    it('counts each key separately', async () => {
      for (let hit = 0; hit < 3; hit++) await store.limits.hit('k', limit);
      expect((await store.limits.hit('k', limit)).allowed).toBe(false);
      expect((await store.limits.hit('K', limit)).allowed).toBe(true);
    });

    it('does not count refused hits', async () => {
      for (let hit = 0; hit < 3; hit++) await store.limits.hit('k', limit);
      test.advance(999);
      for (let hit = 0; hit < 5; hit++) expect((await store.limits.hit('k', limit)).allowed).toBe(false);
      test.advance(1);
      expect(await store.limits.hit('k', limit)).toMatchObject({ allowed: true, remaining: 2 });
    });

    it('never allows more hits than the limit to two daemons at once, if the backend allows two', async () => {
      const states = await callBoth(test, 40, ({ limits }) => limits.hit('k', limit));
      expect(states.filter(({ allowed }) => allowed)).toHaveLength(3);
    });

    it('deletes hits that no longer count', async ({ skip }) => {
      skip(store.maintenance === null, 'this backend needs no sweep');
      for (let hit = 0; hit < 3; hit++) await store.limits.hit('k', limit);
      expect(await sweepAll(store)).toBe(0);
      test.advance(999);
      await store.limits.hit('k', limit);
      expect(await sweepAll(store)).toBe(0);
      test.advance(1);
      await store.limits.hit('k', limit);
      await sweepAll(store);
      expect((await store.limits.hit('k', limit)).remaining).toBe(1);
      test.advance(1000);
      expect(await sweepExpired(test)).toBeGreaterThan(0);
      expect(await sweepAll(store)).toBe(0);
    });
  });
}
