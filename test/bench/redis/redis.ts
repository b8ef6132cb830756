import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { hasRedis, startRedis } from '../../support/redis-server.ts';
import type { Benchmark, Effort, Sample, Target } from '../benchmark.ts';
import { measureChat } from '../chat/chat.ts';
import type { LoadResult } from '../load.ts';
import { measureDone } from '../webhook/webhook.ts';

/** Does the work of one message with a Redis that nobody else uses. */
type Work = (
  url: string,
  directory: string,
  effort: Effort,
) => Promise<Pick<LoadResult, 'acknowledged' | 'refused'>>;

/**
 * What one message costs the Redis server, which has one core for all daemons: its processor time, the commands that it
 * carries out, and the round trips of the daemon. agentd-scaling(7) has the figures.
 */
function redisBenchmark(what: string, target: Target, work: Work): Benchmark {
  return {
    name: 'redis',
    work: `the Redis server's share of ${what}, appendfsync everysec`,
    limit: 'one script that counts a window, and stores a session, its turn and a trace',
    unit: 'µs',
    bare: { name: 'bare', round: (effort) => onRedis(effort, runScripts) },
    ours: [{ name: what, target, round: (effort) => onRedis(effort, work) }],
  };
}

export const redisBenchmarks: readonly Benchmark[] = hasRedis
  ? [
      redisBenchmark('a chat turn', { value: 140, ambition: 110 }, (url, directory, effort) =>
        measureChat(directory, settings(url), { ...effort, people: Math.min(effort.people, PEOPLE) }),
      ),
      redisBenchmark('a webhook until done', { value: 354, ambition: 283 }, (url, directory, effort) =>
        measureDone(directory, settings(url), effort),
      ),
    ]
  : [];

/** So few people write several messages each: a new session costs more than the next turn. */
const PEOPLE = 1000;

const settings = (url: string) => ({ SESSION_BACKEND: 'redis', REDIS_URL: url });

async function onRedis(effort: Effort, work: Work): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-redis-'));
  const redis = await startRedis(['--appendonly', 'yes']);
  try {
    const before = await readUse(redis.client);
    const { acknowledged, refused } = await work(redis.url, directory, effort);
    const after = await readUse(redis.client);
    const each = (name: keyof Use) => (after[name] - before[name]) / Math.max(1, acknowledged);
    return {
      value: each('us'),
      figures: { commands: each('commands'), trips: each('trips') },
      counts: { acknowledged, refused },
    };
  } finally {
    await redis.stop();
    await rm(directory, { recursive: true });
  }
}

/** What the server has done since it started. */
interface Use {
  /** Processor time, µs. */
  us: number;
  /** Commands, those within scripts included. */
  commands: number;
  /** Scripts. */
  trips: number;
}

async function readUse(client: Redis): Promise<Use> {
  const cpu = await client.info('cpu');
  const used = (name: string) => Number(new RegExp(`${name}:([\\d.]+)`).exec(cpu)?.[1]);
  const commands = [...(await client.info('commandstats')).matchAll(/cmdstat_([^:]+):calls=(\d+)/g)];
  const isScript = (name: string | undefined) => name?.startsWith('eval') === true;
  const count = (isMeant: (name: string | undefined) => boolean) =>
    commands.reduce((sum, [, name, calls]) => sum + (isMeant(name) ? Number(calls) : 0), 0);
  return {
    us: (used('used_cpu_user') + used('used_cpu_sys')) * 1_000_000,
    commands: count((name) => !isScript(name)),
    trips: count(isScript),
  };
}

/** The bare limit: what a message stores, in one script. */
const SCRIPT = `
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('GET', KEYS[2])
redis.call('SET', KEYS[2], ARGV[1], 'PX', 86400000)
redis.call('RPUSH', KEYS[3], ARGV[2])
redis.call('XADD', KEYS[4], 'MAXLEN', '~', 100000, '*', 'trace', ARGV[3])
return 1`;
/** Sizes of what a chat turn stores, characters. */
const [SESSION, TURN, TRACE] = ['s'.repeat(700), 't'.repeat(500), 'r'.repeat(1200)];
const AT_ONCE = 64;

const runScripts: Work = async (url, _, { measure_ms, people }) => {
  const { Redis } = await import('ioredis');
  const client = new Redis({ path: url.slice('unix:'.length) });
  const sha = (await client.script('LOAD', SCRIPT)) as string;
  const ends_at = performance.now() + measure_ms;
  let count = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      do {
        const person = count++ % people;
        const keys = [`window:${person}`, `session:${person}`, `turns:${person}`, 'traces'];
        await client.evalsha(sha, keys.length, ...keys, SESSION, TURN, TRACE);
      } while (performance.now() < ends_at);
    }),
  );
  client.disconnect();
  return { acknowledged: count, refused: 0 };
};
