import { closeSync, openSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Effort, Sample } from '../benchmark.ts';
import type { LoadResult } from '../load.ts';
import { ask, type Server, startServer } from '../process.ts';
import type { ChatOrder } from './load.ts';
import { ENCRYPTION_KEY, SECRET } from './people.ts';
import { bareFile, countBare, countOurs, seedBare, seedOurs } from './state.ts';

const CONNECTIONS = 64;
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The directory with the initial store, which each round copies, and the expiry of the tokens in this store. */
let template = '';
let exp = 0;

/**
 * A message of a signed-in visitor through all steps over HTTP: rate limit, token, session, guard, identity,
 * agent (answers at once), turn and trace on disk, reply.
 */
export const chat: Benchmark = {
  name: 'chat',
  work: 'synchronous chat, all steps, agent stubbed',
  limit:
    'node:http, HMAC check, session row with its conversation loaded and saved with better-sqlite3 NORMAL',
  unit: 'requests/s',
  async prepare(effort) {
    template = await mkdtemp(join(tmpdir(), 'agentd-bench-chat-'));
    exp = Math.floor(Date.now() / 1000) + 86_400;
    await seedOurs(template, effort.people, exp);
    seedBare(template, effort.people, exp);
    return () => rm(template, { recursive: true });
  },
  bare: {
    name: 'bare',
    round: (effort) =>
      inCopy(async (directory) => {
        const server = await startServer([file('bare.ts'), bareFile(directory)], { part: 'server' });
        const talk = await chatWith(server, effort);
        return sampleOf(talk, countBare(directory));
      }),
  },
  ours: [
    {
      name: 'agentd',
      target: { ratio: 0.65, ambition: 0.85 },
      round: (effort) => chatRound(effort),
    },
  ],
};

/** One round of the daemon. @param env further settings */
export function chatRound(effort: Effort, env: Readonly<Record<string, string>> = {}): Promise<Sample> {
  return inCopy(async (directory) => {
    const log = join(directory, 'log');
    const stderr = openSync(log, 'w');
    const program = file('../../../bin/agentd.js');
    const server = await startServer([program, 'serve'], {
      part: 'server',
      cwd: directory,
      env: { ...settings(directory), ...env },
      stderr,
    });
    const talk = await chatWith(server, effort);
    closeSync(stderr);
    return sampleOf(talk, {
      ...(await countOurs(directory)),
      'log lines': readFileSync(log, 'utf8').split('"message answered"').length - 1,
    });
  });
}

/**
 * The settings of the daemon. All other settings have their defaults: writes are durable, limits apply, and every
 * message is logged.
 */
function settings(directory: string): Record<string, string> {
  return {
    STATE_DIR: directory,
    PORT: '0',
    WEBCHAT_ENABLED: 'true',
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: SECRET,
    TOKEN_ENCRYPTION_KEY: ENCRYPTION_KEY,
    JWT_ISSUER: 'https://shop.example.com',
    JWT_AUDIENCE: 'agentd',
    AGENT_RUNTIME: file('agent.ts'),
  };
}

async function inCopy(round: (directory: string) => Promise<Sample>): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-chat-round-'));
  try {
    await cp(template, directory, { recursive: true });
    return await round(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

interface Talk {
  load: LoadResult;
  /** Processor time of the server per message. Unlike the rate, it does not depend on other programs. */
  cpu_us: number;
}

async function chatWith(server: Server, { warm_up_ms, measure_ms, people }: Effort): Promise<Talk> {
  const order: ChatOrder = {
    port: server.port,
    connections: CONNECTIONS,
    warm_up_ms,
    measure_ms,
    people,
    exp,
  };
  const cpu_before = server.cpu_ms();
  const load = await ask<LoadResult>(file('load.ts'), order, { part: 'load' });
  const cpu_us = ((server.cpu_ms() - cpu_before) * 1000) / load.acknowledged;
  await server.stop();
  return { load, cpu_us };
}

function sampleOf({ load, cpu_us }: Talk, kept: Record<string, number>): Sample {
  const { rate, p50_ms, p99_ms, ...counts } = load;
  return {
    value: rate,
    figures: { 'p50 ms': p50_ms, 'p99 ms': p99_ms, 'CPU µs': cpu_us },
    counts: { ...counts, ...kept },
  };
}
