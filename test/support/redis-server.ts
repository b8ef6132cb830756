import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** Whether the tests on Redis can run here. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis)
  console.error('MISSING: redis-server; the tests on Redis are skipped: apt-get install redis-server');

/** A redis-server of its own, on a socket in a temporary directory. */
export interface RedisServer {
  /** For REDIS_URL. */
  readonly url: string;
  readonly directory: string;
  readonly pid: number;
  /** Deletes everything. */
  flush(): Promise<void>;
  /** A client for the test itself. */
  readonly client: Redis;
  stop(): Promise<void>;
}

/** @param options of the server, as on its command line. */
export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-redis-'));
  const socket = join(directory, 'r.sock');
  const persistence = ['--save', '', '--appendonly', 'no'];
  const server = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', socket, '--dir', directory, ...persistence, ...options],
    { stdio: 'ignore' },
  );
  const client = new Redis({ path: socket, retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  await client.ping();
  return {
    url: `unix:${socket}`,
    directory,
    pid: server.pid as number,
    client,
    async flush() {
      await client.flushall();
    },
    async stop() {
      client.disconnect();
      await stopped(server);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Ends a process that this test started. */
async function stopped(server: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGTERM');
  const timer = new AbortController();
  await Promise.race([
    ended,
    setTimeout(3000, undefined, { signal: timer.signal }).then(() => server.kill('SIGKILL')),
  ]);
  timer.abort();
}
