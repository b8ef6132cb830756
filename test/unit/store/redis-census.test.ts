import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkStore } from '../../../src/cli/doctor/store.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { openRedisStore } from '../../../src/daemon/store/kernels/redis/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { aResident, fillAsPerson, fillAsUser } from '../../support/person-world.ts';
import { hasRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';

// agentd-doctor(1) counts the keys by kind, and reports keys that should expire but never do.

describe.skipIf(!hasRedis)('the keys of a real Redis server', () => {
  let redis: RedisServer;
  let store: Store;
  beforeAll(async () => {
    redis = await startRedis();
    store = await openRedisStore({ url: redis.url, traceRetentionMs: 3_600_000 });
    const ada = aResident('Ada');
    await fillAsPerson(store, Date.now(), ada);
    await fillAsUser(store, Date.now(), ada);
    await redis.client.set('another:program', 'x');
  });
  afterAll(async () => {
    await store.close();
    await redis.stop();
  });
  const keysOf = async () => {
    const settings = { REDIS_URL: new Secret(redis.url), SESSION_BACKEND: 'redis', TRACE_RETENTION_DAYS: 7 };
    const found = await checkStore(settings as unknown as Settings);
    return found
      .filter(({ check }) => check === 'store keys')
      .map(({ outcome, detail }) => [outcome, detail]);
  };

  it('are counted by kind, and all keys of agentd either expire or are an index', async () => {
    const census = await store.census();
    expect(census?.isWhole).toBe(true);
    const endless = [...(census?.kinds ?? [])].filter(([, kind]) => kind.endless > 0);
    expect(endless).toEqual([]);
    expect(census?.kinds.get('link')?.keys).toBe(1);
    const kinds = [...(census?.kinds ?? [])].filter(([, { keys }]) => keys > 0).map(([kind]) => kind);
    expect(kinds).toEqual(
      expect.arrayContaining([
        'action',
        'budget',
        'guard_user',
        'inbox_message',
        'key',
        'limit',
        'session',
        'stream',
        'traces',
      ]),
    );
    expect([...(census?.kinds.keys() ?? [])]).not.toContain('another');
    expect(await keysOf()).toEqual([['ok', expect.stringMatching(/^keys by kind: .*\b1 link\b/)]]);
  });

  it('are reported, without their names, if they should expire but never do', async () => {
    const [turns = ''] = await redis.client.keys('agentd:{store}:session/list:*');
    await redis.client.persist(turns);
    const [, warning] = await keysOf();
    expect(warning).toEqual(['warning', 'keys that should expire but never do: 1 session']);
    expect(JSON.stringify(warning)).not.toContain('canary');
  });
});
