import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { closeAtEnd } from './close-at-end.ts';

/** Whether tests with Redis can run here. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis)
  console.error(
    'MISSING: redis-server, so the tests on Redis are skipped. Install it with: apt-get install redis-server',
  );

/** A redis-server that a test starts, on a socket in a temporary directory. It is stopped at the end. */
export interface RedisServer {
  /** Value for REDIS_URL. */
  readonly url: string;
  readonly directory: string;
  readonly pid: number;
  /** Deletes everything. */
  flush(): Promise<void>;
  /** A client for the test itself. */
  readonly client: Redis;
  /** Ends the process at once. */
  kill(): Promise<void>;
  /** Starts the server again with the data on its disk. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

/** @param options options of the server, as on its command line */
export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-redis-'));
  const socket = join(directory, 'r.sock');
  const start = () =>
    spawn(
      'redis-server',
      [
        ...['--port', '0', '--unixsocket', socket, '--dir', directory],
        ...['--save', '', '--appendonly', 'no', ...options],
      ],
      { stdio: 'ignore' },
    );
  let server = start();
  const client = new Redis({ path: socket, retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  const stop = async () => {
    client.disconnect();
    await ended(server, 'SIGTERM');
    rmSync(directory, { recursive: true, force: true });
  };
  closeAtEnd(stop);
  await client.ping();
  return {
    url: `unix:${socket}`,
    directory,
    get pid() {
      return server.pid as number;
    },
    client,
    async flush() {
      await client.flushall();
    },
    kill: () => ended(server, 'SIGKILL'),
    async startAgain() {
      server = start();
      await client.ping();
    },
    stop,
  };
}

/** Ends a process that a test started. */
export async function ended(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = new Promise((resolve) => server.once('exit', resolve));
  server.kill(signal);
  const timer = new AbortController();
  const late = setTimeout(3000, undefined, { signal: timer.signal }).then(
    () => server.kill('SIGKILL'),
    () => undefined,
  );
  await exit;
  timer.abort();
  await late;
}
