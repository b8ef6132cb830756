import { setTimeout as passed } from 'node:timers/promises';
import { type RedisServers, startCluster, startSentinel } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';
import { Fleet } from './fleet.ts';

/** What becomes of Redis. */
export type OutageKind = 'restart' | 'hang' | 'sentinel' | 'cluster';

export interface RedisOutage {
  kind: OutageKind;
  durability: 'always' | 'everysec';
  /** Deliveries that were answered 200. */
  acknowledged: number;
  /** Of these, those whose reply never came. */
  lost: number;
  doubled: number;
  /** Answers that were neither 200 nor 503 with `Retry-After`, by what they were. */
  unexpected: Record<string, number>;
  refused: number;
  /** From the failure to the first delivery that was answered 200 after it. */
  away_ms: number;
  /** From when Redis itself was there again; null if its failover is a part of the outage. */
  recovered_ms: number | null;
}

/** A set of servers that can be broken. */
interface Breakable {
  url: string;
  /** Resolves when Redis is there again, or at once if it goes over to another server by itself. */
  break(): Promise<void>;
  isFailover: boolean;
  stop(): Promise<void>;
}

/** How long Redis hangs: longer than a command may take. */
const HANG_MS = 7000;
/** How long a server that is failed over is away: longer than the failover. */
const LOST_MS = 5000;
/** How long replies may take after the outage, ms. */
const SETTLED_MS = 60_000;

/** Two replicas under load while Redis is restarted, hangs, or fails over. */
export async function redisOutage(
  kind: OutageKind,
  durability: RedisOutage['durability'],
  { before_ms, after_ms }: { before_ms: number; after_ms: number },
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
      const began = performance.now();
      const status = await fleet.deliver(fleet.url(n), thread, `m${n}`);
      if (status === 200) {
        texts.add(`re: m${n}`);
        if (began > brokenAt) backAt ??= performance.now();
      } else if (status === 503) {
        result.refused++;
        await passed(50);
      } else result.unexpected[String(status)] = (result.unexpected[String(status)] ?? 0) + 1;
    }
  };
  try {
    const work = Promise.all(Array.from({ length: 4 }, (_, n) => sender(`t${n}`)));
    await passed(before_ms);
    brokenAt = performance.now();
    await redis.break();
    const again = performance.now();
    while (backAt === null) await passed(20);
    result.away_ms = Math.round(backAt - brokenAt);
    if (!redis.isFailover) result.recovered_ms = Math.round(backAt - again);
    await passed(after_ms);
    isOver = true;
    await work;
    const missing = () =>
      [...acknowledged].flatMap(([thread, texts]) => {
        const came = new Set(fleet.exchange.textsTo(thread));
        return [...texts].filter((text) => !came.has(text));
      });
    const until = performance.now() + SETTLED_MS;
    while (missing().length > 0 && performance.now() < until) await passed(200);
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
        await passed(HANG_MS);
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
      const lose = async () => loseFor(servers, await servers.masterOf('{agentd}'));
      return { url: servers.url, break: lose, isFailover: true, stop: () => servers.stop() };
    }
  }
}

/** Kills a master. It comes back as a replica: with REDIS_DURABILITY=always, the new master needs one. */
async function loseFor(servers: RedisServers, server: number): Promise<void> {
  await servers.kill(server);
  setTimeout(() => void servers.startAgain(server).catch(() => undefined), LOST_MS);
}
