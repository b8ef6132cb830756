import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_WINDOW_MS } from '../../src/daemon/store/limits/budgets.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, sweepAll, sweepExpired } from './store-writes.ts';

const MINUTE = 60_000;

/** The contract of the port `budgets`. */
export function describeBudgets(current: () => StoreUnderTest): void {
  describe('budgets', () => {
    let test: StoreUnderTest;
    let store: Store;
    const aRequest = (tokens: number, id: string = randomUUID()) => ({
      id,
      tokens,
      max: 1000,
      ttl_ms: MINUTE,
    });

    beforeEach(() => {
      test = current();
      store = test.store;
    });

    it('reserves an amount only if there is room for it', async () => {
      expect(await store.budgets.reserve('k', aRequest(600))).toEqual({
        granted: true,
        left: 400,
        retry_after_ms: 0,
      });
      expect(await store.budgets.reserve('k', aRequest(401))).toEqual({
        granted: false,
        left: 400,
        retry_after_ms: MINUTE,
      });
      expect(await store.budgets.reserve('k', aRequest(400))).toMatchObject({ granted: true, left: 0 });
    });

    it('counts the used amount instead of the reserved one, for 24 hours', async () => {
      await store.budgets.reserve('k', aRequest(900, 'r'));
      await store.budgets.settle('k', 'r', 300);
      expect(await store.budgets.reserve('k', aRequest(701))).toMatchObject({ granted: false, left: 700 });
      test.advance(TOKEN_WINDOW_MS - 1);
      expect(await store.budgets.reserve('k', aRequest(701))).toMatchObject({
        granted: false,
        retry_after_ms: 1,
      });
      test.advance(1);
      expect(await store.budgets.reserve('k', aRequest(1000))).toMatchObject({ granted: true });
    });

    it('drops an unsettled reservation when it has expired', async () => {
      await store.budgets.reserve('k', aRequest(1000));
      test.advance(MINUTE - 1);
      expect(await store.budgets.reserve('k', aRequest(1))).toMatchObject({
        granted: false,
        retry_after_ms: 1,
      });
      test.advance(1);
      expect(await store.budgets.reserve('k', aRequest(1))).toMatchObject({ granted: true });
    });

    it('counts each key separately', async () => {
      await store.budgets.reserve('k', aRequest(1000));
      expect(await store.budgets.reserve('K', aRequest(1000))).toMatchObject({ granted: true });
    });

    it('reports no wait for an amount above the limit, because there is never room for it', async () => {
      expect(await store.budgets.reserve('k', aRequest(1001))).toEqual({
        granted: false,
        left: 1000,
        retry_after_ms: null,
      });
    });

    it('never grants more than the limit to two daemons at once, if the backend allows two', async () => {
      const asked = await callBoth(test, 40, ({ budgets }) => budgets.reserve('k', aRequest(90)));
      expect(asked.filter(({ granted }) => granted)).toHaveLength(11);
    });

    it('keeps the used amount when the daemon dies', async () => {
      await store.budgets.reserve('k', aRequest(800, 'r'));
      await store.budgets.settle('k', 'r', 800);
      const next = await test.restart();
      expect(await next.budgets.reserve('k', aRequest(201))).toMatchObject({ granted: false, left: 200 });
    });

    it('deletes a budget when all of its amounts have expired', async ({ skip }) => {
      skip(store.maintenance === null, 'this backend needs no sweep');
      await store.budgets.reserve('k', aRequest(800, 'r'));
      await store.budgets.settle('k', 'r', 800);
      test.advance(TOKEN_WINDOW_MS - 1);
      expect(await sweepAll(store)).toBe(0);
      test.advance(1);
      expect(await sweepExpired(test)).toBe(1);
    });
  });
}
