import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { MEMORIES_MAX } from '../../bounds.ts';
import { Reserve, Volume } from '../../disk.ts';
import { StoreFull } from '../../failures.ts';
import type { OpenOptions } from '../../open.ts';
import {
  type Bounds,
  type Store,
  type StoreCondition,
  type StoreMaintenance,
  storeOver,
} from '../../store.ts';
import { AnonymousBytes } from './anonymous-bytes.ts';
import { copyTo, lastBackupAt } from './backup.ts';
import { Checkpoints } from './checkpoints.ts';
import { createPrivateFile, expectFile, keepEventLoopFree, openDatabase } from './database.ts';
import { DiskSpace } from './disk-space.ts';
import { SqliteKernel } from './kernel.ts';
import { prepareLayout } from './layout.ts';
import { takeLock } from './lock.ts';
import { SqliteMemories } from './memories.ts';
import { scrub } from './scrub.ts';
import { Sweep } from './sweep.ts';
import { asStoreFailure, isBusy, isDamage, isOutOfSpace, retrying } from './unavailable.ts';

/** Maximum number of problems that the check for damage reports. Usually the first problem is enough. */
const DAMAGES_MAX = 10;

const MIB = 1024 * 1024;

interface SqliteOptions extends OpenOptions, Partial<Bounds> {
  /** ANONYMOUS_STORE_BYTES. If absent, there is no limit for anonymous clients. */
  anonymousMax?: number;
  /** Maximum number of memories of one owner; `MEMORIES_MAX` if absent. */
  memoriesMax?: number;
  /** Size of the reserve file that the daemon keeps, bytes. If absent, there is no reserve. */
  reserveBytes?: number;
}

/** The store, with maintenance. */
export type SqliteStore = Store & {
  readonly maintenance: StoreMaintenance & { backup(file: string): Promise<void> };
};

/**
 * The embedded store: one SQLite file, created with mode 0600 in a directory created with mode 0700 (agentd-store(7),
 * "Files").
 * @param path the path of the file.
 * @throws the errors of `openStore`.
 */
export function openSqliteStore(path: string, options: SqliteOptions): SqliteStore {
  return options.role === 'daemon' ? openAsDaemon(path, options) : openAsAdministrator(path, options);
}

function openAsDaemon(path: string, options: SqliteOptions): SqliteStore {
  createPrivateFile(path);
  const unlock = takeLock(path);
  const open = () =>
    openWith(path, (opened) => {
      prepareLayout(opened);
      keepEventLoopFree(opened);
    });
  const reserve = createReserve(path, options);
  try {
    return assemble(openWithReserve(open, reserve), options, reserve, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Opens the database. On a full disk, this needs some space, too, which the reserve provides. */
function openWithReserve(open: () => Database.Database, reserve: Reserve | null): Database.Database {
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (!isOutOfSpace(error) || !reserve?.giveUp()) throw error;
    }
  }
}

function createReserve(path: string, { reserveBytes }: SqliteOptions): Reserve | null {
  return reserveBytes === undefined ? null : new Reserve(join(dirname(path), 'agentd.reserve'), reserveBytes);
}

function openAsAdministrator(path: string, options: SqliteOptions): SqliteStore {
  if (options.mayCreate) createPrivateFile(path);
  else expectFile(path);
  return assemble(openWith(path, prepareLayout), options, null, () => {});
}

/** Opens a connection and prepares it. If this fails, the connection is closed again. */
function openWith(path: string, prepare: (db: Database.Database) => void): Database.Database {
  const db = openDatabase(path);
  try {
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Makes the store of an open database, which is closed if that fails. */
function assemble(
  db: Database.Database,
  options: SqliteOptions,
  reserve: Reserve | null,
  unlock: () => void,
): SqliteStore {
  try {
    return storeOn(db, options, reserve, unlock);
  } catch (error) {
    db.close();
    throw asStoreFailure(error);
  }
}

function storeOn(
  db: Database.Database,
  options: SqliteOptions,
  reserve: Reserve | null,
  unlock: () => void,
): SqliteStore {
  const { role, clock, anonymousMax, memoriesMax = MEMORIES_MAX } = options;
  const isDaemon = role === 'daemon';
  const volume = new Volume(dirname(db.name));
  const space = new DiskSpace(db, volume, reserve);
  // Only the daemon makes room: an administrator's command must not delete data that nobody told it to delete.
  const anonymous = isDaemon && anonymousMax !== undefined ? new AnonymousBytes(db, anonymousMax) : null;
  const checkpoints = isDaemon ? new Checkpoints(db) : null;
  const kernel = new SqliteKernel({ db, clock, isDaemon, space, anonymous, checkpoints });
  const memories = new SqliteMemories(db, kernel, clock, memoriesMax);
  let sweep: Sweep | null = null;
  const store = storeOver(
    kernel,
    {
      memories,
      maintenance(rings) {
        if (anonymous !== null) anonymous.rings = rings;
        const sweeps = new Sweep({ db, clock, kernel, rings, volume, space, reserve, checkpoints });
        sweep = sweeps;
        return {
          examine: () => retrying(() => findDamages(db)),
          sweep: () => sweeps.run(),
          backup: (file) => retrying(() => kernel.withoutReading(() => copyTo(db, file))),
          lastBackupAt: () => lastBackupAt(db),
        };
      },
      replicas: null,
      advice: async () => [],
      census: async () => null,
      condition: () => describeCondition(kernel.failure, volume),
      expectRoom() {
        if (!volume.hasRoom()) throw new StoreFull();
      },
      hints: { gather_ms: 0, hintsMayBeLost: false },
      async scrub(allRings) {
        await kernel.write(() => {
          const now = clock.now();
          kernel.journal.scrub(now);
          for (const ring of allRings) kernel.records.sweep(ring, now, Number.MAX_SAFE_INTEGER);
        });
        await kernel.withoutReading(() => scrub(db));
      },
      forgetMemories: (key) => memories.forget({ key, alias: null }, 'all'),
    },
    options,
  );
  return {
    ...store,
    async close() {
      await sweep?.close();
      await kernel.close();
      await checkpoints?.end();
      db.close();
      unlock();
    },
  } as SqliteStore;
}

function findDamages(db: Database.Database): string[] {
  try {
    const rows = db.pragma(`quick_check(${DAMAGES_MAX})`) as { quick_check: string }[];
    return rows.map(({ quick_check }) => quick_check).filter((words) => words !== 'ok');
  } catch (error) {
    // The database is damaged so badly that the check itself fails.
    if (isDamage(error)) return [error.message];
    throw error;
  }
}

/**
 * Whether the store can be written and, if not, why. @param failure why the last write failed; null if it succeeded.
 */
function describeCondition(failure: unknown, volume: Volume): StoreCondition {
  if (failure !== null) return { writable: false, detail: describeFailure(failure) };
  if (volume.hasRoom()) return { writable: true, detail: null };
  const { free_bytes = 0, low_water_bytes = 0 } = volume.space() ?? {};
  const [free, needed] = [Math.floor(free_bytes / MIB), Math.ceil(low_water_bytes / MIB)];
  return {
    writable: false,
    detail: `The volume of STATE_DIR has ${free} MiB left; new messages are refused below ${needed} MiB.`,
  };
}

function describeFailure(failure: unknown): string {
  if (isBusy(failure)) return 'Another process holds the lock of the database.';
  if (isOutOfSpace(failure)) return 'The volume of STATE_DIR is full.';
  return `The last write failed: ${failure instanceof Error ? failure.message : String(failure)}.`;
}
