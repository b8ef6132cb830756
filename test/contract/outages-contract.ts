import { beforeEach, describe, expect, it } from 'vitest';
import type { OutageStore } from '../../src/daemon/store/inbox/outages.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth } from './store-writes.ts';

/** The contract of the port `outages`. */
export function describeOutages(current: () => StoreUnderTest): void {
  describe('outages', () => {
    let test: StoreUnderTest;
    let outages: OutageStore;

    beforeEach(() => {
      test = current();
      outages = test.store.outages;
    });

    it('last until they are ended, and count failed probes', async () => {
      const since = test.now();
      await outages.note('chat', 'unreachable', 'status 503', 1000);
      const begun = { platform: 'chat', reason: 'unreachable', words: 'status 503', since, probes: 0 };
      expect(await outages.list()).toEqual([{ ...begun, probe_at: since + 1000 }]);
      test.advance(1000);
      await outages.note('chat', 'credentials', 'status 401', 2000);
      const beside = (await test.beside()).outages;
      expect(await beside.list()).toEqual([
        {
          ...begun,
          reason: 'credentials',
          words: 'status 401',
          probes: 1,
          probe_at: since + 3000,
        },
      ]);
      expect((await (await test.restart()).outages.list()).map(({ platform }) => platform)).toEqual(['chat']);
    });

    it('are ended only once', async () => {
      expect(await outages.end('chat')).toBe(false);
      await outages.note('chat', 'unreachable', 'x', 0);
      expect(await outages.end('mail')).toBe(false);
      expect(await outages.end('chat')).toBe(true);
      expect(await outages.end('chat')).toBe(false);
      expect(await outages.list()).toEqual([]);
    });

    it('give a due probe to one caller, and to another caller when the time of the first caller is over', async () => {
      expect(await outages.takeProbe('chat', 5000)).toBe(false);
      await outages.note('chat', 'unreachable', 'x', 1000);
      expect(await outages.takeProbe('chat', 5000)).toBe(false);
      test.advance(1000);
      const all = await callBoth(test, 10, (store) => store.outages.takeProbe('chat', 5000));
      expect(all.filter((taken) => taken)).toHaveLength(1);
      test.advance(4999);
      expect(await outages.takeProbe('chat', 5000)).toBe(false);
      test.advance(1);
      expect(await outages.takeProbe('chat', 5000)).toBe(true);
    });

    it('are due for a probe at once if an administrator requests this', async () => {
      expect(await outages.hurry('chat')).toBe(false);
      await outages.note('chat', 'unreachable', 'x', 600_000);
      expect(await (await test.beside()).outages.hurry('chat')).toBe(true);
      expect(await outages.takeProbe('chat', 5000)).toBe(true);
    });
  });
}
