import type Database from 'better-sqlite3';
import type { OpenOptions } from '../open.ts';
import type { Store, StoreCondition } from '../store.ts';
import { countTokens } from './count-tokens.ts';
import { createPrivateFile, emptyLog, expectFile, openDatabase } from './database.ts';
import { SqliteGuard } from './guard.ts';
import { SqliteIdempotency } from './idempotency.ts';
import { FAILED_MAX, INBOX_MAX, SqliteInbox } from './inbox.ts';
import { KnownMessages } from './known-messages.ts';
import { SqliteLeases } from './leases.ts';
import { SqliteLimits } from './limits.ts';
import { SqliteLinks } from './links.ts';
import { takeLock } from './lock.ts';
import { isCurrent, type Migrations, migrate, readMigrations } from './migrations.ts';
import { SqliteSessions } from './sessions.ts';
import { SqliteStreams } from './streams.ts';
import { SqliteTraces, TRACES_MAX } from './traces.ts';
import { isDamage } from './unavailable.ts';
import { GroupCommit, read } from './writer.ts';

/** Rows that one sweep deletes at most: bounds how long it holds the event loop. */
const SWEEP_BITE = 500;
/** How long the outcome of a check is good for, ms. */
const CONDITION_MAX_AGE_MS = 1000;
/** Damages that are told; the first says enough. */
const DAMAGES_MAX = 10;

export interface SqliteOptions extends OpenOptions {
  /** TRACE_RETENTION_DAYS, in ms. */
  traceRetentionMs: number;
  /** Traces kept at most; `TRACES_MAX` where absent. */
  tracesMax?: number;
  /** Messages in the inbox that have not ended, at most; `INBOX_MAX` where absent. */
  inboxMax?: number;
  /** Failed messages kept at most; `FAILED_MAX` where absent. */
  failedMax?: number;
}

/**
 * The embedded store: one SQLite file, made with mode 0600 in a directory made with 0700 (decisions §3).
 * @param path of the file.
 * @throws as `openStore` says.
 */
export function openSqliteStore(path: string, options: SqliteOptions): Store {
  const migrations = readMigrations();
  return options.role === 'daemon'
    ? openAsDaemon(path, options, migrations)
    : openAsAdministrator(path, options, migrations);
}

function openAsDaemon(path: string, options: SqliteOptions, migrations: Migrations): Store {
  createPrivateFile(path);
  const unlock = takeLock(path);
  try {
    const db = openWith(path, (opened) => migrate(opened, migrations));
    return assemble(db, options, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

function openAsAdministrator(path: string, options: SqliteOptions, migrations: Migrations): Store {
  expectFile(path);
  const db = openWith(path, (opened) => {
    if (isCurrent(opened, migrations)) return;
    // Only a database that no daemon is working on may be changed under its feet.
    const unlock = takeLock(path);
    try {
      migrate(opened, migrations);
    } finally {
      unlock();
    }
  });
  return assemble(db, options, () => {});
}

/** A connection that is closed again where it cannot be prepared. */
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

function assemble(db: Database.Database, options: SqliteOptions, unlock: () => void): Store {
  const { clock, traceRetentionMs, tracesMax = TRACES_MAX } = options;
  const { inboxMax = INBOX_MAX, failedMax = FAILED_MAX } = options;
  const commit = new GroupCommit(db);
  const traces = new SqliteTraces(db, commit, { clock, retentionMs: traceRetentionMs, max: tracesMax });
  const sessions = new SqliteSessions(db, commit, traces, clock);
  const leases = new SqliteLeases();
  const limits = new SqliteLimits(db, commit, clock);
  const known = new KnownMessages(db);
  commit.keep(known);
  const guard = new SqliteGuard(db, commit, clock, known);
  const idempotency = new SqliteIdempotency(db, commit, clock);
  const inbox = new SqliteInbox(db, commit, { clock, max: inboxMax, failedMax }, { known, guard, traces });
  const links = new SqliteLinks(db, commit, clock);
  const streams = new SqliteStreams(db, commit, clock);
  const noteCheck = db.prepare<[number]>('INSERT OR REPLACE INTO last_check (id, at) VALUES (1, ?)');
  const check = () =>
    commit.write(() => {
      noteCheck.run(clock.now());
    });
  const sweepers = [sessions, limits, guard, idempotency, inbox, links, streams, traces];

  return {
    description: `sqlite ${db.name}`,
    sessions,
    traces,
    leases,
    limits,
    guard,
    idempotency,
    inbox,
    links,
    streams,
    check,
    condition: lastOutcomeOf(check),
    examine: () => read(() => damagesOf(db)),
    countTokens: (prefix) => read(() => countTokens(db, prefix, clock.now())),
    async sweep() {
      const deleted = await commit.write(() =>
        sweepers.reduce((sum, sweeper) => sum + sweeper.deleteExpired(SWEEP_BITE - sum), 0),
      );
      if (deleted === 0) await read(() => emptyLog(db));
      return deleted;
    },
    async close() {
      leases.close();
      commit.close();
      db.close();
      unlock();
    },
  };
}

/**
 * What the last check found. A question starts the next check, in the background and at most once a second, so
 * that only a store that is asked about its condition writes for it.
 */
function lastOutcomeOf(check: () => Promise<void>): () => StoreCondition {
  let last: StoreCondition = { writable: true, detail: null };
  let running = false;
  let checkedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (!running && performance.now() - checkedAt >= CONDITION_MAX_AGE_MS) {
      running = true;
      check()
        .then(
          () => ({ writable: true, detail: null }),
          (error: Error) => ({
            writable: false,
            detail: error.cause instanceof Error ? error.cause.message : error.message,
          }),
        )
        .then((outcome) => {
          last = outcome;
          running = false;
          checkedAt = performance.now();
        });
    }
    return last;
  };
}

function damagesOf(db: Database.Database): string[] {
  try {
    const rows = db.pragma(`quick_check(${DAMAGES_MAX})`) as { quick_check: string }[];
    return rows.map(({ quick_check }) => quick_check).filter((words) => words !== 'ok');
  } catch (error) {
    // So badly damaged that the check itself stumbles.
    if (isDamage(error)) return [error.message];
    throw error;
  }
}
