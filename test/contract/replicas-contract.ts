import { expect, it } from 'vitest';
import type { StoreUnderTest } from './store-contract.ts';

/** The contract of the port `replicas`. */
export function describeReplicas(current: () => StoreUnderTest): void {
  it('daemons that share the store list each other while they run', async ({ skip }) => {
    const test = current();
    const [one, two] = [test.store.replicas, (await test.another()).replicas];
    if (one === null || two === null) return skip('this backend has no replicas');
    const about = {
      ...{ host: 'h', pid: 1, version: '1.0.0', runs: 2, waiting: 0 },
      ...{ digests: { A: 'x' }, agent_digest: 'a' },
    };
    const [first, second] = [
      { replica_id: 'a', uptime_ms: 5, ...about },
      { replica_id: 'b', uptime_ms: 9, ...about },
    ];
    await one.record(first, 1000);
    await two.record(second, 2000);
    const seen_at = test.now();
    expect(await one.list()).toEqual([second, first].map((replica) => ({ ...replica, seen_at })));
    test.advance(1000);
    expect((await two.list()).map(({ replica_id }) => replica_id)).toEqual(['b']);
    await two.remove('b');
    expect(await one.list()).toEqual([]);
  });
}
