import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { StoreUnavailable } from '../errors.ts';
import { findObstacle } from '../files/make-directory.ts';
import type { Log } from '../process/log.ts';
import { memoryBackend, sessionBackend } from '../settings/backends.ts';
import type { Settings } from '../settings/settings.ts';
import type { Clock } from '../time/clock.ts';
import { DAY_MS } from './bounds.ts';
import { RESERVE_BYTES } from './disk.ts';
import { StateDirectoryBlocked } from './failures.ts';
import type { MemoryStore } from './memories/memories.ts';
import type { Store } from './store.ts';

export interface OpenOptions {
  /**
   * `daemon`: creates the store if it is missing. An embedded store can be used by only one daemon at a time.
   * `administrator`: reads and writes, whether or not a daemon runs. Creates nothing, unless `mayCreate`.
   */
  role: 'daemon' | 'administrator';
  /** Whether an administrator, too, creates the store if it is missing. */
  mayCreate?: boolean;
  clock: Clock;
  /** Gets details of connections, at debug level. */
  log?: Pick<Log, 'debug'>;
}

const QUIET = { debug() {} };

/**
 * The file of the embedded store. A symbolic link is followed here, because the lock, the log and the copies of a store
 * must be next to the file itself: otherwise, two links to one file would be two stores.
 * @throws StateDirectoryBlocked
 */
function databasePath({ STATE_DIR }: Pick<Settings, 'STATE_DIR'>): string {
  const obstacle = findObstacle(STATE_DIR);
  if (obstacle !== null) throw new StateDirectoryBlocked(obstacle);
  const path = join(STATE_DIR, 'agentd.db');
  try {
    return lstatSync(path).isSymbolicLink() && existsSync(path) ? realpathSync(path) : path;
  } catch {
    // Opening it says why it cannot be used.
    return path;
  }
}

/**
 * Opens the store that the settings name (agentd-settings(5), `SESSION_BACKEND`). The backend is loaded only now, so that
 * commands without a store do not load it.
 * @throws StoreLocked if another daemon uses the store, StoreMissing if there is no store and it may not be created,
 * StoreOfAnotherLayout if another version wrote it, StoreTooOld if the Redis server is too old, StoreUnavailable if the
 * store cannot be read or written.
 */
export async function openStore(settings: Settings, options: OpenOptions): Promise<Store> {
  try {
    return await openBackend(settings, options);
  } catch (error) {
    if (error instanceof StoreUnavailable) error.place ??= placeOf(settings);
    throw error;
  }
}

function placeOf(settings: Settings): string {
  const backend = sessionBackend(settings);
  return backend === 'sqlite' ? `sqlite ${databasePath(settings)}` : backend;
}

async function openBackend(settings: Settings, options: OpenOptions): Promise<Store> {
  const bounds = {
    traceRetentionMs: settings.TRACE_RETENTION_DAYS * DAY_MS,
    actionsRetentionMs: settings.ACTIONS_RETENTION_DAYS * DAY_MS,
    recordingsMaxBytes: settings.RECORDINGS_MAX_BYTES,
  };
  switch (sessionBackend(settings)) {
    case 'redis': {
      const { openRedisStore } = await import('./kernels/redis/store.ts');
      if (settings.REDIS_URL === undefined) throw new Error('SESSION_BACKEND is redis without REDIS_URL');
      return openRedisStore({
        url: settings.REDIS_URL.reveal(),
        ...bounds,
        isAlways: settings.REDIS_DURABILITY === 'always',
      });
    }
    case 'postgres': {
      const { openPostgresStore } = await import('./kernels/postgres/store.ts');
      if (settings.DATABASE_URL === undefined)
        throw new Error('SESSION_BACKEND is postgres without DATABASE_URL');
      return openPostgresStore({
        url: settings.DATABASE_URL.reveal().trim(),
        log: options.log ?? QUIET,
        ...bounds,
      });
    }
    case 'sqlite': {
      const { openSqliteStore } = await import('./kernels/sqlite/store.ts');
      return openSqliteStore(databasePath(settings), {
        ...options,
        ...bounds,
        reserveBytes: RESERVE_BYTES,
        anonymousMax: settings.ANONYMOUS_STORE_BYTES,
      });
    }
  }
}

/** A new, empty store that ends with the process, for runs that must have no effect. */
export async function openScratchStore(clock: Clock): Promise<Store> {
  const [{ MemoryState }, { openMemoryStore }] = await Promise.all([
    import('./kernels/memory/kernel.ts'),
    import('./kernels/memory/store.ts'),
  ]);
  return openMemoryStore(new MemoryState(), { clock });
}

/**
 * Opens the long-term memory that the settings name (agentd-settings(5), `MEMORY_BACKEND`); null if there is none. If
 * the database cannot be reached, this call succeeds and the first use fails.
 * @param store memories in the embedded store are a part of this store, and are closed with it.
 */
export async function openMemories(
  settings: Settings,
  store: Pick<Store, 'memories'>,
  options: { clock: Clock; log: Pick<Log, 'debug'> },
): Promise<MemoryStore | null> {
  switch (memoryBackend(settings)) {
    case 'none':
      return null;
    case 'sqlite':
      return store.memories;
    case 'postgres': {
      const { openPostgresMemories } = await import('./kernels/postgres/memories.ts');
      return openPostgresMemories({ url: settings.DATABASE_URL?.reveal().trim() ?? '', ...options });
    }
  }
}

/**
 * Replaces the embedded store with a backup. No daemon may be using the store.
 * @returns the path of the replaced store; null if there was none.
 * @throws StoreLocked while a daemon runs, RestoreRefused if the file is not a complete store of this program.
 */
export async function restoreStore(
  settings: Pick<Settings, 'STATE_DIR'>,
  file: string,
): Promise<string | null> {
  const { restoreSqliteStore } = await import('./kernels/sqlite/restore.ts');
  return restoreSqliteStore(databasePath(settings), file);
}

/** The name of the layout of the embedded store (`layoutName`). */
export async function storeLayout(): Promise<string> {
  const { layoutName } = await import('./kernels/sqlite/layout.ts');
  return layoutName();
}

/**
 * Locks a small file for as long as the process lives; the kernel releases the lock when the process ends.
 * @returns a function that releases the lock; null if another process holds it.
 */
export async function lockFile(path: string): Promise<(() => void) | null> {
  const sqlite = await import('./kernels/sqlite/lock.ts');
  return sqlite.lockFile(path);
}

/**
 * Whether a daemon uses the embedded store that the settings name.
 * @throws StoreUnavailable
 */
export async function isServed(settings: Pick<Settings, 'STATE_DIR'>): Promise<boolean> {
  const sqlite = await import('./kernels/sqlite/lock.ts');
  return sqlite.isLocked(databasePath(settings));
}
