import { setTimeout as delay } from 'node:timers/promises';
import { LAYOUT_KEY } from '../../src/daemon/store/kernels/redis/keys.ts';
import { type RedisServers, startCluster, startSentinel } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';
import { Fleet } from './fleet.ts';

/** The kind of failure of Redis. */
export type OutageKind = 'restart' | 'hang' | 'sentinel' | 'cluster' | 'slots';

export interface RedisOutage {
  kind: OutageKind;
  durability: 'always' | 'everysec';
  /** Deliveries that were answered 200. */
  acknowledged: number;
  /** Acknowledged deliveries whose reply never arrived. */
  lost: number;
  doubled: number;
  /** Answers other than 200 and 503 with `Retry-After`, counted by kind. */
  unexpected: Record<string, number>;
  refused: number;
  /** Time from the failure to the next delivery that was answered 200, ms. */
  away_ms: number;
  /** Time from the return of Redis to that delivery, ms; null after a failover or a move of slots. */
  recovered_ms: number | null;
}

/** Redis servers that a test can break. */
interface Breakable {
  url: string;
  /** Causes the outage. Resolves when Redis is back, or for a failover as soon as the master has been killed. */
  break(): Promise<void>;
  isFailover: boolean;
  stop(): Promise<void>;
}

/** How long Redis hangs, ms: longer than a command may take. */
const HANG_MS = 7000;
/** How long a failed master is down, ms: longer than the failover takes. */
const LOST_MS = 5000;
/** How often the slot of the store is moved: it is on each master once, and then on the first one again. */
const MOVES = 4;
/** The maximum time until a delivery is accepted after the outage, and then until all replies have arrived, ms. */
const SETTLED_MS = 60_000;

/** Puts two replicas under load while Redis is restarted, hangs, fails over, or moves its slot. */
export async function redisOutage(
  kind: OutageKind,
  durability: RedisOutage['durability'],
  {
    before_ms,
    after_ms,
    pause_ms = 0,
  }: {
    before_ms: number;
    after_ms: number;
    /** How long a sender waits between two messages. */
    pause_ms?: number;
  },
): Promise<RedisOutage> {
  const redis = await startBreakable(kind, durability);
  const env = { REDIS_DURABILITY: durability === 'always' ? 'always' : 'everysec' };
  const fleet = await Fleet.start({ url: redis.url, replicas: 2, env: durability === 'always' ? env : {} });
  const acknowledged = new Map<string, Set<string>>();
  const result: RedisOutage = {
    ...{ kind, durability, acknowledged: 0, lost: 0, doubled: 0, unexpected: {}, refused: 0 },
    ...{ away_ms: 0, recovered_ms: null },
  };
  let isOver = false;
  let brokenAt = Number.POSITIVE_INFINITY;
  let backAt: number | null = null;
  const sender = async (thread: string) => {
    const texts = new Set<string>();
    acknowledged.set(thread, texts);
    for (let n = 0; !isOver; n++) {
      if (pause_ms > 0) await delay(pause_ms);
      const began = performance.now();
      const status = await fleet.deliver(fleet.url(n), thread, `m${n}`);
      if (status === 200) {
        texts.add(`re: m${n}`);
        if (began > brokenAt) backAt ??= performance.now();
      } else if (status === 503) {
        result.refused++;
        await delay(50);
      } else result.unexpected[String(status)] = (result.unexpected[String(status)] ?? 0) + 1;
    }
  };
  try {
    const work = Promise.all(Array.from({ length: 4 }, (_, n) => sender(`t${n}`)));
    await delay(before_ms);
    brokenAt = performance.now();
    await redis.break();
    const again = performance.now();
    while (backAt === null) {
      if (performance.now() > again + SETTLED_MS)
        throw new Error(`${kind}: no delivery is accepted any more`);
      await delay(20);
    }
    result.away_ms = Math.round(backAt - brokenAt);
    if (!redis.isFailover) result.recovered_ms = Math.round(backAt - again);
    await delay(after_ms);
    isOver = true;
    await work;
    const missing = () =>
      [...acknowledged].flatMap(([thread, texts]) => {
        const came = new Set(fleet.exchange.textsTo(thread));
        return [...texts].filter((text) => !came.has(text));
      });
    const until = performance.now() + SETTLED_MS;
    while (missing().length > 0 && performance.now() < until) await delay(200);
    result.lost = missing().length;
    for (const [thread, texts] of acknowledged) {
      result.acknowledged += texts.size;
      const came = fleet.exchange.textsTo(thread);
      result.doubled += came.length - new Set(came).size;
    }
    return result;
  } finally {
    isOver = true;
    await fleet.stop();
    await redis.stop();
  }
}

async function startBreakable(kind: OutageKind, durability: RedisOutage['durability']): Promise<Breakable> {
  const log = ['--appendonly', 'yes', '--appendfsync', durability];
  switch (kind) {
    case 'restart': {
      const server = await startRedis(log);
      const restart = async () => {
        await server.kill();
        await server.startAgain();
      };
      return { url: server.url, break: restart, isFailover: false, stop: () => server.stop() };
    }
    case 'hang': {
      const server = await startRedis(log);
      const hang = async () => {
        process.kill(server.pid, 'SIGSTOP');
        await delay(HANG_MS);
        process.kill(server.pid, 'SIGCONT');
      };
      return { url: server.url, break: hang, isFailover: false, stop: () => server.stop() };
    }
    case 'sentinel': {
      const servers = await startSentinel();
      return {
        url: servers.url,
        break: () => loseFor(servers, 0),
        isFailover: true,
        stop: () => servers.stop(),
      };
    }
    case 'cluster': {
      const servers = await startCluster(3, { replicas: true, options: log });
      const lose = async () => loseFor(servers, await servers.masterOf(LAYOUT_KEY));
      return { url: servers.url, break: lose, isFailover: true, stop: () => servers.stop() };
    }
    case 'slots': {
      const servers = await startCluster(3, { replicas: true, options: log });
      const move = async () => {
        for (let n = 0; n < MOVES; n++) await (await servers.moveSlot(LAYOUT_KEY)).finish();
      };
      return { url: servers.url, break: move, isFailover: true, stop: () => servers.stop() };
    }
  }
}

/**
 * Kills a master, and starts it again later as a replica. With REDIS_DURABILITY=always, the new master needs a replica.
 */
async function loseFor(servers: RedisServers, server: number): Promise<void> {
  await servers.kill(server);
  setTimeout(() => void servers.startAgain(server).catch(() => undefined), LOST_MS);
}
