import { beforeEach, describe, expect, it } from 'vitest';
import type { NewLinkNotice } from '../../src/daemon/store/links/link-notices.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada, anInboxMessage } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';

const DAY = 24 * 60 * 60 * 1000;
const KEY = 'chat:jwt:u1';
const ENDED: NewLinkNotice = { platform: 'chat', user_id: 'u1', what: 'ended' };

/** The contract of the port `linkNotices`. */
export function describeLinkNotices(current: () => StoreUnderTest): void {
  describe('linkNotices', () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(() => {
      test = current();
      store = test.store;
    });

    const put = async (token: string, expected: string | null, notice?: NewLinkNotice, key = KEY) =>
      store.links.put({ key, token, person: ada, ttl_ms: 2 * DAY, ...(notice && { notice }) }, expected);
    const waiting = () => store.linkNotices.waiting(['chat', 'other'], 9);
    const aText = () => anInboxMessage({ platform: 'chat', session_id: null, message: null, reply: 'ended' });
    const queued = async () => (await store.inbox.list({ states: ['replied'], limit: 9 })).length;

    it('are stored in the step that ends or replaces a link, and only if it does', async () => {
      await put('one', null);
      expect(await store.links.remove(KEY, 'another', ENDED)).toBe(false);
      expect(await put('two', 'another', { ...ENDED, what: 'replaced' })).toBe(false);
      expect(await waiting()).toEqual([]);
      expect(await put('two', 'one', { ...ENDED, what: 'replaced' })).toBe(true);
      expect(await waiting()).toEqual([{ ...ENDED, what: 'replaced', serial: expect.any(Number) }]);
      // The newest is kept.
      expect(await store.links.remove(KEY, 'two', ENDED)).toBe(true);
      expect(await waiting()).toEqual([{ ...ENDED, serial: expect.any(Number) }]);
      expect(await store.links.remove(KEY, undefined, ENDED)).toBe(false);
    });

    it('survive a restart, are found by platform, oldest first, and end after a day', async () => {
      for (const [platform, user_id] of [
        ['chat', 'u2'],
        ['chat', 'u1'],
        ['other', 'u1'],
      ] as const) {
        const key = `${platform}:jwt:${user_id}`;
        await put('one', null, undefined, key);
        await store.links.remove(key, undefined, { platform, user_id, what: 'ended' });
      }
      store = await test.restart();
      const users = async (platforms: string[], limit: number) =>
        (await store.linkNotices.waiting(platforms, limit)).map((one) => `${one.platform} ${one.user_id}`);
      expect(await users(['other', 'chat'], 9)).toEqual(['other u1', 'chat u2', 'chat u1']);
      expect(await users(['chat'], 1)).toEqual(['chat u2']);
      test.advance(DAY - 1);
      expect(await waiting()).toHaveLength(3);
      test.advance(1);
      expect(await waiting()).toEqual([]);
    });

    it('are settled once, with or without a text, and not after a newer one', async () => {
      await put('one', null);
      await store.links.remove(KEY, undefined, ENDED);
      const [first] = await waiting();
      if (first === undefined) throw new Error('there is no notice');
      await put('two', null);
      await store.links.remove(KEY, undefined, ENDED);
      const [second] = await waiting();
      if (second === undefined) throw new Error('there is no notice');
      expect(await store.linkNotices.settle(first, aText())).toBe(false);
      expect(await queued()).toBe(0);
      const settled = await Promise.all([1, 2, 3].map(() => store.linkNotices.settle(second, aText())));
      expect(settled.filter(Boolean)).toHaveLength(1);
      store = await test.restart();
      expect([await queued(), await waiting()]).toEqual([1, []]);
      await put('three', null);
      await store.links.remove(KEY, undefined, ENDED);
      const [third] = await waiting();
      expect(third && (await store.linkNotices.settle(third, null))).toBe(true);
      expect([await queued(), await waiting()]).toEqual([1, []]);
    });
  });
}
