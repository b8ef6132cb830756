import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MESSAGE } from '../../../src/daemon/store/inbox/inbox-document.ts';
import { freePort } from '../../support/free-ports.ts';
import { storedDocuments } from '../../support/stored-documents.ts';
import type { Benchmark, Effort, Sample } from '../benchmark.ts';
import { SECRET } from '../chat/people.ts';
import { measureServer, SATURATED, sampleOf } from '../http.ts';
import type { LoadResult } from '../load.ts';
import { DAEMON, type Server, startServer } from '../process.ts';
import { SIGNING_SECRET } from './deliveries.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

type Round = (effort: Effort) => Promise<Sample>;

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
  bare: { name: 'bare', round: acknowledgedBy(() => [file('bare.ts')]) },
  peers: [
    {
      name: 'durable bare',
      round: acknowledgedBy((directory) => [file('bare.ts'), join(directory, 'bare.db')]),
    },
    { name: 'Bolt', round: acknowledgedBy(() => [file('bolt.ts')]) },
  ],
  ours: [
    {
      name: 'agentd',
      target: { ratio: 0.45, ambition: 0.6 },
      round: (effort) => webhookRound(effort),
    },
  ],
};

/**
 * The same, until the reply has arrived at the platform, which is a part of the load. The agent answers at once. 64
 * messages are on their way.
 */
export const webhookDone: Benchmark = {
  name: 'webhook',
  work: 'a signed webhook from its delivery until its reply is posted: all steps, agent and platform stubbed',
  limit: 'node:http, HMAC check, a row in better-sqlite3 FULL in group commit, fetch to the platform',
  unit: 'requests/s',
  bare: {
    name: 'durable bare',
    round: doneBy((directory, url) => [file('bare.ts'), join(directory, 'bare.db'), url]),
  },
  peers: [{ name: 'Bolt', round: doneBy((_, url) => [file('bolt.ts'), `${url}/`]) }],
  ours: [
    {
      name: 'until done',
      target: { ratio: 0.45, ambition: 0.6 },
      round: (effort) =>
        inDirectory(async (directory) =>
          sampleOf(await measureDone(directory, {}, effort), 'rate', await countKept(directory)),
        ),
    },
  ],
};

/** Measures a daemon until the replies are posted. Its store is in the directory if no other is set. */
export async function measureDone(
  directory: string,
  env: Readonly<Record<string, string>>,
  effort: Effort,
): Promise<LoadResult> {
  const port = await freePort();
  const server = await startDaemon(directory, {
    AGENT_RUNTIME: file('answering-agent.ts'),
    TEAMCHAT_API_URL: `http://127.0.0.1:${port}`,
    ...env,
  });
  return untilDone(server, port, effort);
}

/** One round of the daemon. @param env further settings */
export function webhookRound(effort: Effort, env: Readonly<Record<string, string>> = {}): Promise<Sample> {
  return inDirectory(async (directory) => {
    const server = await startDaemon(directory, env);
    const result = await measureServer(server, file('load.ts'), SATURATED, effort);
    return sampleOf(result, 'rate', await countKept(directory));
  });
}

async function startDaemon(directory: string, env: Readonly<Record<string, string>>): Promise<Server> {
  const stderr = openSync(devNull, 'w');
  try {
    return await startServer(DAEMON, {
      part: 'server',
      cwd: directory,
      env: { ...settings(directory), ...env },
      stderr,
    });
  } finally {
    closeSync(stderr);
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
    LOOP_GUARD_MAX_MESSAGES: '1000',
    SHUTDOWN_GRACE_SECONDS: '1',
  };
}

/** @param program the command line of a server, for a directory in which it may store data */
function acknowledgedBy(program: (directory: string) => string[]): Round {
  return (effort) =>
    inDirectory(async (directory) => {
      const server = await startServer(program(directory), { part: 'server' });
      return sampleOf(await measureServer(server, file('load.ts'), SATURATED, effort), 'rate');
    });
}

/** @param program the same; its second argument is the address of the platform */
function doneBy(program: (directory: string, url: string) => string[]): Round {
  return (effort) =>
    inDirectory(async (directory) => {
      const port = await freePort();
      const command = program(directory, `http://127.0.0.1:${port}`);
      return sampleOf(await untilDone(await startServer(command, { part: 'server' }), port, effort), 'rate');
    });
}

function untilDone(server: Server, platform_port: number, effort: Effort): Promise<LoadResult> {
  return measureServer(server, file('done-load.ts'), SATURATED, effort, { platform_port });
}

async function inDirectory(round: (directory: string) => Promise<Sample>): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-webhook-'));
  try {
    return await round(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** How many messages are in the store after a round. */
async function countKept(directory: string): Promise<{ kept: number }> {
  return { kept: (await storedDocuments(join(directory, 'agentd.db'), MESSAGE)).length };
}
