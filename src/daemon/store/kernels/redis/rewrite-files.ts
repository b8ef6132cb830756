import { setTimeout } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { FilesNotRewritten } from '../../persons/persons.ts';

/** How often to check whether the server is done, ms. */
const ASK_MS = 50;
/** How long the server may take for one file, ms. */
const REWRITE_MS = 10 * 60 * 1000;
const ADVICE =
  'Have the server rewrite its files: `redis-cli BGREWRITEAOF` if it keeps an append-only file, `redis-cli BGSAVE` if it makes snapshots.';

type Facts = ReadonlyMap<string, string>;

/**
 * Makes servers rewrite their files on disk from their current data: the log of writes and, if they make snapshots, the
 * snapshot. When it resolves, neither contains deleted data. Files of replicas are not covered.
 * @throws FilesNotRewritten if a server refuses, cannot, or takes longer than ten minutes.
 */
export async function rewriteFiles(servers: readonly Redis[]): Promise<void> {
  try {
    await Promise.all(servers.map(rewrite));
  } catch (error) {
    if (error instanceof FilesNotRewritten) throw error;
    throw new FilesNotRewritten(`Redis did not answer: ${(error as Error).message}`, ADVICE);
  }
}

async function rewrite(server: Redis): Promise<void> {
  const facts = await readPersistence(server);
  if (facts.get('aof_enabled') === '1') {
    await until(server, (now) => now.get('rdb_bgsave_in_progress') === '0' && !isRewriting(now));
    await ask(server, 'BGREWRITEAOF');
    const now = await until(server, (later) => !isRewriting(later));
    if (now.get('aof_last_bgrewrite_status') !== 'ok')
      throw new FilesNotRewritten('the log of Redis could not be written', ADVICE);
  }
  if (!(await makesSnapshots(server))) return;
  await until(server, (now) => now.get('rdb_bgsave_in_progress') === '0' && !isRewriting(now));
  await ask(server, 'BGSAVE');
  const now = await until(server, (later) => later.get('rdb_bgsave_in_progress') === '0');
  if (now.get('rdb_last_bgsave_status') !== 'ok')
    throw new FilesNotRewritten('the snapshot of Redis could not be written', ADVICE);
}

function isRewriting(facts: Facts): boolean {
  return facts.get('aof_rewrite_in_progress') === '1' || facts.get('aof_rewrite_scheduled') === '1';
}

/** True also if a server does not report its configuration, in case it makes snapshots. */
async function makesSnapshots(server: Redis): Promise<boolean> {
  try {
    const [, save = ''] = (await server.config('GET', 'save')) as string[];
    return save !== '';
  } catch {
    return true;
  }
}

async function ask(server: Redis, command: 'BGREWRITEAOF' | 'BGSAVE'): Promise<void> {
  try {
    await server.call(command);
  } catch (error) {
    throw new FilesNotRewritten(`Redis refused ${command}: ${(error as Error).message}`, ADVICE);
  }
}

async function until(server: Redis, holds: (facts: Facts) => boolean): Promise<Facts> {
  const gives_up_at = performance.now() + REWRITE_MS;
  for (;;) {
    const facts = await readPersistence(server);
    if (holds(facts)) return facts;
    if (performance.now() >= gives_up_at)
      throw new FilesNotRewritten('Redis has been writing a file for more than ten minutes', ADVICE);
    await setTimeout(ASK_MS);
  }
}

async function readPersistence(server: Redis): Promise<Facts> {
  const text = await server.info('persistence');
  const pairs = text.split('\r\n').map((line) => line.split(/:(.*)/s) as [string, string]);
  return new Map(pairs);
}
