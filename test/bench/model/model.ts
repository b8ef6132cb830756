import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Effort, Sample } from '../benchmark.ts';
import { ask, type Server, startServer } from '../process.ts';
import type { ModelOrder, ModelResult } from './load.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The number of runs at once. */
const RUNS = 64;

/** The time from the model's first token until a reader sees it. agentd stores the token before anybody sees it. */
export const firstToken: Benchmark = {
  name: 'model',
  work: `from the model's first token to the reader's first event, ${RUNS} runs (\`--quick\`: 10) at once`,
  limit: 'node:http, which writes each word of the model to the reader and stores nothing',
  unit: 'ms',
  bare: { name: 'bare', round: (effort) => withModel((url) => bareServer(url), effort) },
  ours: [{ name: 'first token', target: { value: 5, ambition: 2 }, round: ourRound }],
};

function bareServer(url: string): Promise<Server> {
  return startServer([file('bare.ts')], { part: 'server', env: { MODEL_URL: url } });
}

async function ourRound(effort: Effort): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-model-'));
  const stderr = openSync(join(directory, 'log'), 'w');
  const program = [file('../../../bin/agentd.js'), 'serve'];
  const start = (url: string) =>
    startServer(program, { part: 'server', cwd: directory, env: settings(directory, url), stderr });
  try {
    return await withModel(start, effort);
  } finally {
    closeSync(stderr);
    await rm(directory, { recursive: true });
  }
}

/** Default settings, with a model. */
function settings(directory: string, url: string): Record<string, string> {
  return {
    STATE_DIR: directory,
    PORT: '0',
    SSE_ENABLED: 'true',
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: 'a-secret-for-benchmarks-of-at-least-256-bits',
    AGENT_MODEL: 'm',
    AGENT_BASE_URL: url,
    TRUST_PROXY: '1',
    RATE_LIMIT_ANONYMOUS_MAX: '1000000',
    LOOP_GUARD_ENABLED: 'false',
    SHUTDOWN_GRACE_SECONDS: '0',
  };
}

/** One round. The model runs on the same CPU core as the load. */
async function withModel(start: (url: string) => Promise<Server>, effort: Effort): Promise<Sample> {
  const model = await startServer([file('server.ts')], { part: 'load' });
  const server = await start(`http://127.0.0.1:${model.port}/v1`);
  const { streams, warm_up_ms, measure_ms } = effort;
  const runs = Math.min(RUNS, streams);
  const order: ModelOrder = { port: server.port, runs, warm_up_ms, measure_ms };
  const { p50_ms, p99_ms, answered } = await ask<ModelResult>(file('load.ts'), order, { part: 'load' });
  await server.stop();
  await model.stop();
  return { value: p50_ms, figures: { 'p99 ms': p99_ms }, counts: { answered } };
}
