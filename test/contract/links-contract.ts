import { beforeEach, describe, expect, it } from 'vitest';
import type { LinkStore } from '../../src/daemon/store/store.ts';
import type { StoreUnderTest } from './store-contract.ts';

const MONTH = 2_592_000 * 1000;

/** The contract of the port `links`. */
export function describeLinks(current: () => StoreUnderTest): void {
  describe('links', () => {
    let test: StoreUnderTest;
    let links: LinkStore;

    beforeEach(() => {
      test = current();
      links = test.store.links;
    });

    it('gives back a value exactly as it was put, until its time has passed', async () => {
      expect(await links.get('chat:jwt:u1')).toBeNull();
      expect(await links.put('chat:jwt:u1', 'a.b.c', null, MONTH)).toBe(true);
      const link = {
        key: 'chat:jwt:u1',
        token: 'a.b.c',
        expires_at: test.now() + MONTH,
        lapse_told: false,
      };
      expect(await links.get('chat:jwt:u1')).toEqual(link);
      test.advance(MONTH - 1);
      expect(await links.get('chat:jwt:u1')).toEqual(link);
      test.advance(1);
      expect(await links.get('chat:jwt:u1')).toBeNull();
      expect(await links.list({ limit: 10 })).toEqual([]);
      expect(await links.remove('chat:jwt:u1')).toBe(false);
      expect(await test.store.sweep()).toBe(1);
    });

    it('replaces a value only where what stands there is what was expected', async () => {
      expect(await links.put('k', 'mine', 'something', MONTH)).toBe(false);
      expect(await links.put('k', 'mine', null, MONTH)).toBe(true);
      expect(await links.put('k', 'other', null, MONTH)).toBe(false);
      expect(await links.put('k', 'other', 'not mine', MONTH)).toBe(false);
      expect((await links.get('k'))?.token).toBe('mine');
      expect(await links.put('k', 'other', 'mine', MONTH)).toBe(true);
      expect((await links.get('k'))?.token).toBe('other');
    });

    it('lets one of many win who all expect nothing there', async () => {
      const won = await Promise.all(
        Array.from({ length: 20 }, (_, n) => links.put('k', `token ${n}`, null, MONTH)),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await links.get('k'))?.token).toBe(`token ${won.indexOf(true)}`);
    });

    it('counts an expired link as nothing when another is put', async () => {
      await links.put('k', 'old', null, 1000);
      test.advance(1000);
      expect(await links.put('k', 'new', 'old', MONTH)).toBe(false);
      expect(await links.put('k', 'new', null, MONTH)).toBe(true);
    });

    it('removes a link, or only one that has the expected value', async () => {
      await links.put('k', 'mine', null, MONTH);
      expect(await links.remove('k', 'another')).toBe(false);
      expect(await links.get('k')).not.toBeNull();
      expect(await links.remove('k', 'mine')).toBe(true);
      expect(await links.get('k')).toBeNull();
      expect(await links.remove('k')).toBe(false);
    });

    it('lists the links of one platform, or of all, in the order of their keys', async () => {
      for (const key of ['chat:jwt:b', 'chat:jwt:a', 'chat-2:jwt:c', 'phone:jwt:+15550100', 'chat:jwt:ü'])
        await links.put(key, `token of ${key}`, null, MONTH);
      const keys = async (filter: { platform?: string; limit: number }) =>
        (await links.list(filter)).map(({ key }) => key);
      expect(await keys({ platform: 'chat', limit: 10 })).toEqual(['chat:jwt:a', 'chat:jwt:b', 'chat:jwt:ü']);
      expect(await keys({ platform: 'chat', limit: 2 })).toEqual(['chat:jwt:a', 'chat:jwt:b']);
      expect(await keys({ platform: 'nothing', limit: 10 })).toEqual([]);
      expect(await keys({ limit: 10 })).toHaveLength(5);
    });

    it('remembers that a lapse was told, until the person links anew', async () => {
      await links.put('k', 'old', null, MONTH);
      await links.noteLapseTold('k', 'another');
      expect((await links.get('k'))?.lapse_told).toBe(false);
      await links.noteLapseTold('k', 'old');
      expect((await links.get('k'))?.lapse_told).toBe(true);
      await links.put('k', 'new', 'old', MONTH);
      expect((await links.get('k'))?.lapse_told).toBe(false);
    });

    it('shows at once what an administrator has changed beside it', async () => {
      const beside = await test.beside();
      await beside.links.put('k', 'token', null, MONTH);
      expect((await links.get('k'))?.token).toBe('token');
      await links.remove('k');
      expect(await beside.links.get('k')).toBeNull();
    });
  });
}
