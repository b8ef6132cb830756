import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';

/** An empty directory that is removed when the test has finished. */
export function stateDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/**
 * An empty directory that is removed when the test has finished. It is in memory if the system has an in-memory file
 * system. Use it for tests that write thousands of commits and do not depend on the disk.
 */
export function fastStateDirectory(): string {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'agentd-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** Opens a store that uses the system's clock. The store is closed when the test has finished, if it is still open. */
export function openAt(path: string, role: 'daemon' | 'administrator' = 'daemon'): SqliteStore {
  const clock = { now: () => Date.now() };
  const store = openSqliteStore(path, { role, clock, traceRetentionMs: 24 * 60 * 60 * 1000 });
  onTestFinished(() => store.close());
  return store;
}

/** A connection to a new or existing database. The connection is closed when the test has finished. */
export function connectTo(path: string): Database.Database {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  onTestFinished(() => {
    db.close();
  });
  return db;
}
