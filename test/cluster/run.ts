/**
 * `npm run test:cluster -- [NAME…]`: checks the guarantees of several replicas on one Redis or Postgres in full, with real
 * processes. Without a name, it checks all of them, which takes an hour and a half on two cores. Exit code 1 if a
 * guarantee is broken.
 */
import { setPriority } from 'node:os';
import { parseArgs } from 'node:util';
import { hasRedis } from '../support/redis-server.ts';
import { EXACT, exactLimits } from './exact-limits.ts';
import { kills } from './kills.ts';
import { pause } from './pause.ts';
import { processes } from './processes.ts';
import { redisOutage } from './redis-outages.ts';
import { rollingRestart } from './rolling-restart.ts';
import { isKept, type Sample, soak } from './soak.ts';

/** The time within which the daemons must work again when Redis is back, ms. */
const RECOVERED_MS = 10_000;
const OUTAGES = ['restart', 'hang', 'sentinel', 'cluster', 'slots'] as const;
const SERVERS = ['redis', 'cluster', 'postgres'] as const;
const DURABILITIES = ['always', 'everysec'] as const;
const MINUTE = 60_000;

/** Each scenario prints its results, and returns the problems. */
const SCENARIOS: Readonly<Record<string, () => Promise<string[]>>> = {
  async kills() {
    const problems: string[] = [];
    for (const on of SERVERS) {
      const found = await kills({ messages: 500, turns: 200, streams: 100, sessions: 50, kills: 10, on });
      print(found);
      problems.push(
        ...wrong({
          [`${on}: messages were lost`]: found.lost.length > 0,
          [`${on}: sessions are out of order`]: found.disordered.length > 0,
          [`${on}: more replies arrived twice than were in progress`]: found.doubled > found.underWay,
        }),
      );
    }
    return problems;
  },
  async pause() {
    const found = await pause({ sessions: 10, ms: 40_000 });
    print(found);
    return wrong({
      'messages were not taken over': found.unanswered > 0,
      'replies arrived twice': found.doubled > 0,
      'turns were stored twice': found.stored_twice > 0,
    });
  },
  async outages() {
    const problems: string[] = [];
    for (const durability of DURABILITIES)
      for (const kind of OUTAGES) {
        const found = await redisOutage(kind, durability, { before_ms: 5000, after_ms: 10_000 });
        print(found);
        problems.push(
          ...wrong({
            [`${kind}, ${durability}: acknowledged messages were lost`]:
              durability === 'always' && found.lost > 0,
            [`${kind}, ${durability}: replies arrived twice`]: kind === 'slots' && found.doubled > 0,
            [`${kind}, ${durability}: answers other than 200 and 503`]:
              Object.keys(found.unexpected).length > 0,
            [`${kind}, ${durability}: not recovered in time`]: (found.recovered_ms ?? 0) > RECOVERED_MS,
          }),
        );
      }
    return problems;
  },
  async restart() {
    const found = await rollingRestart({ requests: 20_000, clients: 16, streams: 4 });
    print(found);
    return wrong({
      'requests failed': Object.keys(found.failed).length > 0,
      'streams were not resumed': found.broken > 0 || found.resumed === 0,
    });
  },
  async limits() {
    const found = [];
    for (const on of SERVERS) found.push(...(await exactLimits({ rounds: 20, on })));
    const others = found.filter((round) => JSON.stringify(round) !== JSON.stringify(EXACT));
    print({ rounds: found.length, exact: EXACT, others });
    return wrong({ 'a limit is not exact': others.length > 0 });
  },
  async processes() {
    for (const on of ['redis', 'postgres'] as const)
      for (const count of [1, 2, 4]) print(await processes(count, { ms: 20_000, clients: 32, on }));
    return [];
  },
  async soak() {
    const found = await soak({ ms: 60 * MINUTE, every_ms: MINUTE, users: 20 });
    const { samples, ...counts } = found;
    print(counts);
    for (const sample of samples.filter((_, n) => n % 5 === 0)) print(sample);
    const settled = samples.filter(({ at_seconds }) => at_seconds >= 600);
    return wrong({
      'requests failed': found.failed > 0,
      'the memory of a daemon grows': growth(settled, ({ daemons_mb }) => Math.max(...daemons_mb)) > 0.05,
      'the memory of Redis grows by more than what is kept for days':
        growth(
          settled,
          ({ redis_mb, redis_kept_mb }) => redis_mb - redis_kept_mb,
          ({ redis_mb }) => redis_mb,
        ) > 0.05,
      'the number of keys that expire with their sessions grows': growth(settled, shortLived) > 0.05,
    });
  },
};

/**
 * The number of keys that expire with their sessions and streams, within a minute, for each request of the last minute:
 * a busy machine answers fewer.
 */
function shortLived({ keys, answered }: Sample): number {
  const count = Object.entries(keys).reduce((all, [kind, of]) => all + (isKept(kind) ? 0 : of), 0);
  return count / Math.max(1, answered);
}

/**
 * The growth from the mean of the first third of the samples to the mean of the last third, as a fraction of the former
 * or of another mean.
 */
function growth(
  samples: readonly Sample[],
  measure: (sample: Sample) => number,
  whole: (sample: Sample) => number = measure,
): number {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return 0;
  const mean = (some: readonly Sample[], of: (sample: Sample) => number) =>
    some.reduce((all, one) => all + of(one), 0) / some.length;
  const first = samples.slice(0, third);
  return (mean(samples.slice(-third), measure) - mean(first, measure)) / mean(first, whole);
}

function wrong(problems: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(problems).flatMap(([problem, is]) => (is ? [problem] : []));
}

function print(found: object): void {
  console.log(JSON.stringify(found));
}

const { positionals } = parseArgs({ allowPositionals: true });
const names = positionals.length > 0 ? positionals : Object.keys(SCENARIOS);
const unknown = names.find((name) => !(name in SCENARIOS));
if (unknown !== undefined || !hasRedis) {
  console.error(
    hasRedis
      ? `unknown scenario ${unknown}; known scenarios: ${Object.keys(SCENARIOS).join(', ')}`
      : 'redis-server is not installed',
  );
  process.exit(64);
}
setPriority(10);
for (const name of names) {
  const began = performance.now();
  const problems = (await SCENARIOS[name]?.()) ?? [];
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`${problems.length === 0 ? 'passed' : 'FAILED'} ${name}, ${seconds} s`);
  for (const problem of problems) console.log(`  ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
