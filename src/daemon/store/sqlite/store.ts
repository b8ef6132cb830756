import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import {
  ACTIONS_RETENTION_MS,
  FAILED_MAX,
  GUARD_LISTED_MAX,
  INBOX_MAX,
  MEMORIES_MAX,
  REFUSED_MAX,
  TRACES_MAX,
} from '../bounds.ts';
import { StoreFull } from '../failures.ts';
import type { OpenOptions } from '../open.ts';
import { Reserve } from '../reserve.ts';
import type { Store, StoreMaintenance } from '../store.ts';
import { Volume } from '../volume.ts';
import { SqliteActions } from './actions.ts';
import { AnonymousBytes } from './anonymous-bytes.ts';
import { SqliteAudit } from './audit.ts';
import { copyTo, lastBackupAt } from './backup.ts';
import { SqliteBudgets } from './budgets.ts';
import { conditionOf } from './condition.ts';
import { createPrivateFile, expectFile, keepEventLoopFree, openDatabase } from './database.ts';
import { DiskSpace } from './disk-space.ts';
import { ErasedIds } from './erased-ids.ts';
import { SqliteGuard } from './guard.ts';
import { GuardTurns } from './guard-turns.ts';
import { SqliteIdempotency } from './idempotency.ts';
import { SqliteInbox } from './inbox.ts';
import { KnownMessages } from './known-messages.ts';
import { prepareLayout } from './layout.ts';
import { SqliteLimits } from './limits.ts';
import { SqliteLinks } from './links.ts';
import { takeLock } from './lock.ts';
import { SqliteMemories } from './memories.ts';
import { SqliteOutages } from './outages.ts';
import { PendingActions } from './pending-actions.ts';
import { SqlitePersons } from './persons.ts';
import { SqliteSessions } from './sessions.ts';
import { StoredTokens } from './stored-tokens.ts';
import { SqliteStreams } from './streams.ts';
import { SqliteSummaries } from './summaries.ts';
import { Sweep } from './sweep.ts';
import { SqliteToolDigests } from './tool-digests.ts';
import { SqliteTraces } from './traces.ts';
import { SqliteTurns } from './turns.ts';
import { isDamage, isOutOfSpace } from './unavailable.ts';
import { GroupCommit, read } from './writer.ts';

/** Maximum number of problems that the check for damage reports. Usually the first problem is enough. */
const DAMAGES_MAX = 10;

export interface SqliteOptions extends OpenOptions {
  /** TRACE_RETENTION_DAYS, in ms. */
  traceRetentionMs: number;
  /** Maximum number of traces; `TRACES_MAX` if absent. */
  tracesMax?: number;
  /** Maximum number of traces of refused requests; `REFUSED_MAX` if absent. */
  refusedMax?: number;
  /** ACTIONS_RETENTION_DAYS, in ms; `ACTIONS_RETENTION_MS` if absent. */
  actionsRetentionMs?: number;
  /** ANONYMOUS_STORE_BYTES. If absent, there is no limit for anonymous clients. */
  anonymousMax?: number;
  /** Maximum number of messages in the inbox that have not ended; `INBOX_MAX` if absent. */
  inboxMax?: number;
  /** Maximum number of failed messages; `FAILED_MAX` if absent. */
  failedMax?: number;
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
  const reserve = reserveOf(path, options);
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

function reserveOf(path: string, { reserveBytes }: SqliteOptions): Reserve | null {
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

function assemble(
  db: Database.Database,
  options: SqliteOptions,
  reserve: Reserve | null,
  unlock: () => void,
): SqliteStore {
  const { clock, traceRetentionMs, tracesMax = TRACES_MAX, refusedMax = REFUSED_MAX } = options;
  const { inboxMax = INBOX_MAX, failedMax = FAILED_MAX, actionsRetentionMs = ACTIONS_RETENTION_MS } = options;
  const volume = new Volume(dirname(db.name));
  const space = new DiskSpace(db, volume, reserve);
  const commit = new GroupCommit(db, space);
  const erased = new ErasedIds(db, clock);
  const anonymous = new AnonymousBytes(anonymousMaxOf(options));
  const traces = new SqliteTraces(db, commit, erased, {
    clock,
    retentionMs: traceRetentionMs,
    max: tracesMax,
    refusedMax,
    anonymous,
  });
  const counts = new GuardTurns(db, commit, GUARD_LISTED_MAX);
  const pending = new PendingActions(db, clock);
  commit.keep(anonymous);
  const sessions = new SqliteSessions(db, commit, clock, { counts, pending, erased, anonymous });
  const limits = new SqliteLimits(db, commit, clock);
  const budgets = new SqliteBudgets(db, commit, clock);
  const summaries = new SqliteSummaries(db, commit, clock, sessions);
  const known = new KnownMessages(db);
  commit.keep(known);
  const guard = new SqliteGuard(db, commit, clock, known, counts);
  const idempotency = new SqliteIdempotency(db, commit, clock, anonymous);
  const outages = new SqliteOutages(db, commit, clock);
  const inbox = new SqliteInbox(
    db,
    commit,
    { clock, max: inboxMax, failedMax },
    {
      known,
      guard,
      traces,
      pending,
      outages,
    },
  );
  const links = new SqliteLinks(db, commit, clock);
  const memories = new SqliteMemories(db, commit, clock, options.memoriesMax ?? MEMORIES_MAX);
  const streams = new SqliteStreams(db, commit, clock, anonymous);
  const actions = new SqliteActions(db, commit, {
    clock,
    retentionMs: actionsRetentionMs,
    pending,
    sessions,
    idempotency,
  });
  const turns = new SqliteTurns(commit, {
    sessions,
    actions,
    traces,
    inbox,
    idempotency,
    streams,
    pending,
  });
  const audit = new SqliteAudit(db, commit, clock);
  const tokens = new StoredTokens(db, commit, clock);
  const noteCheck = db.prepare<[number]>('INSERT OR REPLACE INTO last_check (id, at) VALUES (1, ?)');
  const sweep = new Sweep(
    [sessions, limits, budgets, guard, idempotency, inbox, links, streams, traces, actions, audit, erased],
    {
      db,
      commit,
      volume,
      space,
      reserve,
    },
  );

  return {
    description: `sqlite ${db.name}`,
    sessions,
    actions,
    audit,
    traces,
    limits,
    budgets,
    summaries,
    guard,
    idempotency,
    inbox,
    links,
    memories,
    outages,
    persons: new SqlitePersons(db, commit, erased),
    streams,
    toolDigests: new SqliteToolDigests(db, commit, clock),
    beginTurn: (...of) => turns.begin(...of),
    commitTurn: (claim, changes) => turns.commit(claim, changes),
    maintenance: {
      examine: () => read(() => damagesOf(db)),
      sweep: () => sweep.run(),
      backup: (file) => read(() => copyTo(db, file)),
      lastBackupAt: () => lastBackupAt(db),
    },
    replicas: null,
    advice: async () => [],
    census: async () => null,
    condition: () => conditionOf(commit.failure, volume),
    expectRoom() {
      if (!volume.hasRoom()) throw new StoreFull();
    },
    check: () =>
      commit.write(() => {
        noteCheck.run(clock.now());
      }),
    countTokens: (prefix) => tokens.count(prefix),
    countSeals: () => tokens.countSeals(),
    storedTokens: (unlike) => tokens.all(unlike),
    replaceToken: (token, value) => tokens.replace(token, value),
    async close() {
      await sweep.close();
      await commit.close();
      db.close();
      unlock();
    },
  };
}

/** Only the daemon makes room: an administrator's command must not delete data that nobody told it to delete. */
function anonymousMaxOf({ role, anonymousMax }: SqliteOptions): number {
  return role === 'daemon' ? (anonymousMax ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

function damagesOf(db: Database.Database): string[] {
  try {
    const rows = db.pragma(`quick_check(${DAMAGES_MAX})`) as { quick_check: string }[];
    return rows.map(({ quick_check }) => quick_check).filter((words) => words !== 'ok');
  } catch (error) {
    // The database is damaged so badly that the check itself fails.
    if (isDamage(error)) return [error.message];
    throw error;
  }
}
