import { describe, expect, it, vi } from 'vitest';
import { EXACT, exactLimits } from '../cluster/exact-limits.ts';
import { kills } from '../cluster/kills.ts';
import { redisOutage } from '../cluster/redis-outages.ts';
import { rollingRestart } from '../cluster/rolling-restart.ts';
import { withoutNginx } from '../support/nginx.ts';
import { hasRedis } from '../support/redis-server.ts';

// Tests agentd-scaling(7), "What is promised", in a short form. `npm run test:cluster` tests it in full.

const SERVERS = ['redis', 'cluster'] as const;

vi.setConfig({ testTimeout: 180_000 });

describe.skipIf(!hasRedis)('replicas on one Redis', () => {
  it.each(SERVERS)(
    'accept exactly as many requests as the rate limit and the loop guard allow, whichever replica gets the requests: %s',
    async (on) => {
      expect(await exactLimits({ rounds: 2, replicas: 2, on })).toEqual([EXACT, EXACT]);
    },
  );

  it.each(SERVERS)(
    'lose nothing and keep the order of each session when one replica is killed: %s',
    async (on) => {
      const found = await kills({ messages: 12, turns: 8, streams: 4, sessions: 4, kills: 1, on });
      expect(found).toMatchObject({ lost: [], disordered: [] });
      expect(found.doubled).toBeLessThanOrEqual(found.underWay);
    },
  );

  it('answer 503 while Redis is restarted, recover by themselves, and lose nothing that was acknowledged', async () => {
    const found = await redisOutage('restart', 'always', { before_ms: 500, after_ms: 500, pause_ms: 50 });
    expect(found).toMatchObject({ lost: 0, unexpected: {} });
    expect(found.acknowledged).toBeGreaterThan(0);
  });

  it('switch to another node of a Redis Cluster when a node is lost', async () => {
    const found = await redisOutage('cluster', 'everysec', { before_ms: 500, after_ms: 500, pause_ms: 50 });
    expect(found).toMatchObject({ unexpected: {} });
    expect(found.acknowledged).toBeGreaterThan(0);
  });

  it.skipIf(withoutNginx)('fail no request while they are restarted one by one behind nginx', async () => {
    const found = await rollingRestart({
      ...{ requests: 1, clients: 2, streams: 2 },
      ...{ replicas: 2, pause_ms: 100 },
    });
    expect(found).toMatchObject({ failed: {}, broken: 0 });
    expect(found.resumed).toBeGreaterThan(0);
  });
});
