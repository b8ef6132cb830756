import type { Log } from '../../../process/log.ts';
import { MEMORIES_MAX } from '../../bounds.ts';
import { type MemoryStore, memoryStore } from '../../memories/memories.ts';
import { Database } from './database.ts';
import { PostgresKernel } from './kernel.ts';
import { migrate } from './migrations.ts';
import { Notifications } from './notifications.ts';

/** A message waits for its memories. If they take longer, it is answered without them. */
const LIMITS = { max: 5, query_ms: 2_000 };

interface PostgresOptions {
  /** DATABASE_URL */
  url: string;
  log: Pick<Log, 'debug'>;
  /** The time instead of that of the server, for tests. */
  now?: () => number;
  /** Maximum number of memories of one owner; `MEMORIES_MAX` if absent. */
  memoriesMax?: number;
}

/**
 * Opens the memories in a Postgres database that has nothing else of this daemon, or also its store. It does not connect
 * before the first use.
 */
export function openPostgresMemories({
  url,
  log,
  now,
  memoriesMax = MEMORIES_MAX,
}: PostgresOptions): MemoryStore {
  const database = new Database(url, log, LIMITS);
  const kernel = new PostgresKernel({ database, notifications: new Notifications(url, log), now });
  /** Resolves when the schema is current. Null before the first use and after a failed migration. */
  let migrated: Promise<void> | null = null;
  const prepared: Pick<PostgresKernel, 'description' | 'step'> = {
    description: kernel.description,
    async step(work, options) {
      migrated ??= migrate(database).catch((error: unknown) => {
        migrated = null;
        throw error;
      });
      await migrated;
      return kernel.step(work, options);
    },
  };
  return { ...memoryStore(prepared, { memoriesMax }), close: () => kernel.close() };
}
