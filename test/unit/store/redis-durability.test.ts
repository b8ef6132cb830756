import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RedisConnection } from '../../../src/daemon/store/kernels/redis/connection.ts';
import { openRedisStore } from '../../../src/daemon/store/kernels/redis/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { anAction, anInboxMessage } from '../../contract/fixtures.ts';
import { aResident, fillAsPerson, fillAsUser } from '../../support/person-world.ts';
import { hasRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';

// agentd-store(7), REDIS_DURABILITY. What the steps of all methods say is in durability.test.ts.

const HOUR = 3_600_000;

const withRedis = describe.skipIf(!hasRedis);
withRedis.each(['always', 'everysec'])('durability with REDIS_DURABILITY=%s', (setting) => {
  const isAlways = setting === 'always';
  let server: RedisServer;
  let store: Store;
  /** How often the store has waited until its writes were durable. */
  let waits = 0;

  beforeAll(async () => {
    server = await startRedis();
    vi.spyOn(RedisConnection.prototype, 'untilDurable').mockImplementation(async () => void waits++);
    // As with a server that can report what is on its disk.
    vi.spyOn(RedisConnection.prototype, 'lastsJournal', 'get').mockReturnValue(true);
    store = await openRedisStore({ url: server.url, isAlways });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await store.close();
    await server.stop();
  });

  /** How often the store waits while this is done. */
  async function countWaits(work: () => Promise<unknown>): Promise<number> {
    const before = waits;
    await work();
    return waits - before;
  }

  it.each<[what: string, isWaitedFor: boolean, work: (store: Store) => Promise<unknown>]>([
    ['of the journal', true, ({ actions }) => actions.start(null, anAction())],
    ['that says nothing', isAlways, ({ outages }) => outages.note('chat', 'unreachable', 'x', 0)],
    ['of claims', false, ({ sessions }) => sessions.claim('s')],
    ['that is lazy', false, ({ limits }) => limits.hit('k', { max: 3, window_ms: HOUR })],
    ['that only reads', false, ({ outages }) => outages.list()],
  ])('for a step %s: %s', async (_what, isWaitedFor, work) => {
    expect(await countWaits(() => work(store))).toBe(isWaitedFor ? 1 : 0);
  });

  it.runIf(isAlways)('is waited for with each write of an erasure', async () => {
    const resident = aResident('Ada');
    await fillAsPerson(store, Date.now(), resident);
    await fillAsUser(store, Date.now(), resident);
    const { run } = RedisConnection.prototype;
    let writes = 0;
    const spy = vi.spyOn(RedisConnection.prototype, 'run');
    spy.mockImplementation(function (this: RedisConnection, ...given) {
      if (given[0] === 'commit') writes++;
      return run.apply(this, given);
    });
    const of = { person: resident.person, link_keys: [] };
    expect(await countWaits(async () => store.persons?.erase(of))).toBe(writes);
    expect(writes).toBeGreaterThan(10);
    spy.mockRestore();
  });

  it.runIf(isAlways)(
    'is waited for by an answer that tells what another call is still waiting for',
    async () => {
      const done = Promise.withResolvers<void>();
      const message = anInboxMessage({ id: 'twice', message_id: 'twice' });
      vi.mocked(RedisConnection.prototype.untilDurable).mockImplementation(() => done.promise);
      const outcomes: unknown[] = [];
      const enqueue = async () => void outcomes.push(await store.inbox.enqueue([message]));
      const first = enqueue();
      await expect.poll(() => server.client.exists('agentd:{store}:inbox_message:twice')).toBe(1);
      const second = enqueue();
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(outcomes).toEqual([]);
      done.resolve();
      await Promise.all([first, second]);
      expect(outcomes).toEqual([['kept'], ['repeated']]);
    },
  );
});
