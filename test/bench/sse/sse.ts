import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Effort, Sample } from '../benchmark.ts';
import { ask, type Server, startServer } from '../process.ts';
import type { SseOrder, SseResult } from './load.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The number of streams, and of the readers to whom each word of a stream is written. */
const FAN_OUT = { streams: 50, readers: 20 } as const;

type Plan = (server: Server, effort: Effort) => SseOrder;

/** Readers per stream when the memory of readers is measured. */
const TOGETHER = 50;
const readerPlan: Plan = ({ port, pid }, { streams, warm_up_ms }) => ({
  kind: 'memory',
  port,
  pid,
  streams: Math.ceil(streams / TOGETHER),
  readers: TOGETHER,
  settle_ms: warm_up_ms,
});
const streamPlan: Plan = ({ port, pid }, { streams, warm_up_ms }) => ({
  kind: 'memory',
  port,
  pid,
  streams,
  readers: 1,
  settle_ms: warm_up_ms,
});
const fanOutPlan: Plan = ({ port }, { streams, measure_ms }) => ({
  kind: 'fan-out',
  port,
  streams: Math.min(FAN_OUT.streams, streams),
  readers: FAN_OUT.readers,
  measure_ms,
});
const firstPlan: Plan = ({ port }, { streams, warm_up_ms, measure_ms }) => ({
  kind: 'first',
  port,
  streams: Math.ceil(streams / 10),
  warm_up_ms,
  measure_ms,
});

/**
 * Memory of each connection that reads a stream. Either many connections share a stream, or each connection has its own
 * stream, with a run that has sent a word.
 */
export const streamMemory: Benchmark = {
  name: 'sse',
  work: 'resident memory of one of 10,000 open streams (`--quick`: 10)',
  limit: 'node:http, `res.write`, a suspended generator for each stream',
  unit: 'KiB',
  bare: { name: 'bare', round: bareRound(streamPlan) },
  ours: [
    { name: 'open stream', target: { ratio: 1.5, ambition: 1.3 }, round: ourRound(readerPlan) },
    { name: 'with a run each', target: { ratio: 1.5, ambition: 1.3 }, round: ourRound(streamPlan) },
  ],
};

/** Events to many readers of many streams. agentd stores them before anybody sees them. */
export const fanOut: Benchmark = {
  name: 'sse',
  work: `events that reach a reader, ${FAN_OUT.streams} streams (\`--quick\`: 10) with ${FAN_OUT.readers} readers each`,
  limit: 'node:http, one frame per stream, written to each reader with `res.write`; nothing stored',
  unit: 'events/s',
  bare: { name: 'bare', round: bareRound(fanOutPlan) },
  ours: [{ name: 'fan-out', target: { ratio: 1.2, ambition: 1.5 }, round: ourRound(fanOutPlan) }],
};

/** The time in which a message is posted and stored, and its stream is opened and sends its first event. */
export const firstEvent: Benchmark = {
  name: 'sse',
  work: 'first event of a stream, 1,000 started at once (`--quick`: 1)',
  limit: 'node:http, a counter as the id and `res.write`; nothing stored',
  unit: 'ms',
  bare: { name: 'bare', round: bareRound(firstPlan) },
  ours: [{ name: 'first event', target: { ratio: 1.5, ambition: 1.2 }, round: ourRound(firstPlan) }],
};

function bareRound(plan: Plan): (effort: Effort) => Promise<Sample> {
  return async (effort) => {
    const server = await startServer(['--expose-gc', file('bare.ts')], { part: 'server' });
    return measure(server, plan, effort);
  };
}

function ourRound(plan: Plan): (effort: Effort) => Promise<Sample> {
  return async (effort) => {
    const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-sse-'));
    const stderr = openSync(join(directory, 'log'), 'w');
    try {
      const program = ['--expose-gc', file('../../../bin/agentd.js'), 'serve'];
      const env = settings(directory);
      const server = await startServer(program, { part: 'server', cwd: directory, env, stderr });
      return await measure(server, plan, effort);
    } finally {
      closeSync(stderr);
      await rm(directory, { recursive: true });
    }
  };
}

/** Default settings, except that 10,000 runs may be in progress at once. */
function settings(directory: string): Record<string, string> {
  return {
    STATE_DIR: directory,
    PORT: '0',
    SSE_ENABLED: 'true',
    SSE_MAX_READERS_PER_CLIENT: '1000000',
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: 'a-secret-for-benchmarks-of-at-least-256-bits',
    AGENT_RUNTIME: file('agent.ts'),
    AGENT_CONCURRENCY: '10000',
    AGENT_QUEUE_MAX: '100000',
    AGENT_TIMEOUT_SECONDS: '600',
    TRUST_PROXY: '1',
    SHUTDOWN_GRACE_SECONDS: '0',
  };
}

async function measure(server: Server, plan: Plan, effort: Effort): Promise<Sample> {
  const { value, p99, opened } = await ask<SseResult>(file('load.ts'), plan(server, effort), {
    part: 'load',
  });
  await server.stop();
  return { value, figures: p99 > 0 ? { 'p99 ms': p99 } : {}, counts: { opened } };
}
