import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MESSAGE } from '../../../src/daemon/store/inbox-document.ts';
import { storedDocuments } from '../../support/stored-documents.ts';
import type { Benchmark, Effort, Sample } from '../benchmark.ts';
import { SECRET } from '../chat/people.ts';
import type { LoadOrder, LoadResult } from '../load.ts';
import { ask, type Server, startServer } from '../process.ts';
import { SIGNING_SECRET } from './deliveries.ts';

const CONNECTIONS = 64;
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * A signed delivery of one direct message to the teamchat channel, until it is answered 200: the daemon checks the
 * signature, asks the loop guard, and stores the message in the inbox, synced to disk. Meanwhile, all runs that the
 * daemon allows are in progress, and never end.
 */
export const webhook: Benchmark = {
  name: 'webhook',
  work: 'a signed webhook: its message is checked by the loop guard, synced to disk, and acknowledged',
  limit: 'node:http, HMAC check, nothing stored',
  unit: 'requests/s',
  bare: { name: 'bare', round: (effort) => roundOf(file('bare.ts'), effort) },
  peers: [{ name: 'Bolt', round: (effort) => roundOf(file('bolt.ts'), effort) }],
  ours: [
    {
      name: 'agentd',
      target: { ratio: 0.45, ambition: 0.6 },
      round: (effort) => webhookRound(effort),
    },
  ],
};

/** One round of the daemon. @param env further settings */
export async function webhookRound(
  effort: Effort,
  env: Readonly<Record<string, string>> = {},
): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-webhook-'));
  const stderr = openSync(devNull, 'w');
  try {
    const program = [file('../../../bin/agentd.js'), 'serve'];
    const options = {
      part: 'server',
      cwd: directory,
      env: { ...settings(directory), ...env },
      stderr,
    } as const;
    const sample = await deliverTo(await startServer(program, options), effort);
    return { ...sample, counts: { ...sample.counts, ...(await countKept(directory)) } };
  } finally {
    closeSync(stderr);
    await rm(directory, { recursive: true });
  }
}

function settings(directory: string): Record<string, string> {
  return {
    STATE_DIR: directory,
    PORT: '0',
    MESSAGING_PLATFORMS: 'teamchat',
    TEAMCHAT_BOT_TOKEN: 'xoxb-benchmark',
    TEAMCHAT_SIGNING_SECRET: SIGNING_SECRET,
    // Nothing listens at this address, because direct messages are acknowledged without a call to the platform.
    TEAMCHAT_API_URL: 'http://127.0.0.1:9',
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: SECRET,
    AGENT_RUNTIME: file('agent.ts'),
    AGENT_TIMEOUT_SECONDS: '600',
    SHUTDOWN_GRACE_SECONDS: '1',
  };
}

async function roundOf(program: string, effort: Effort): Promise<Sample> {
  return deliverTo(await startServer([program], { part: 'server' }), effort);
}

async function deliverTo(server: Server, { warm_up_ms, measure_ms }: Effort): Promise<Sample> {
  const order: LoadOrder = { port: server.port, connections: CONNECTIONS, warm_up_ms, measure_ms };
  const cpu_before = server.cpu_ms();
  const load = await ask<LoadResult>(file('load.ts'), order, { part: 'load' });
  const cpu_us = ((server.cpu_ms() - cpu_before) * 1000) / load.acknowledged;
  await server.stop();
  const { rate, p50_ms, p99_ms, ...counts } = load;
  return { value: rate, figures: { 'p50 ms': p50_ms, 'p99 ms': p99_ms, 'CPU µs': cpu_us }, counts };
}

/** How many messages are in the store after a round. */
async function countKept(directory: string): Promise<{ kept: number }> {
  return { kept: (await storedDocuments(join(directory, 'agentd.db'), MESSAGE)).length };
}
