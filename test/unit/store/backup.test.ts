import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { MigrationBackupFailed } from '../../../src/daemon/store/failures.ts';
import { migrate, readMigrations } from '../../../src/daemon/store/sqlite/migrations.ts';
import { canMount, smallDisk } from '../../support/small-disk.ts';
import { openAt, stateDirectory } from './state-directory.ts';

const DAY = 24 * 60 * 60 * 1000;

/** A database of the second schema with one answer, and, if `filler` is not 0, another answer of `filler` bytes. */
function olderDatabase(directory: string, filler = 0): string {
  const path = join(directory, 'agentd.db');
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  migrate(db, readMigrations().slice(0, 2));
  db.prepare("INSERT INTO answers VALUES ('k', 'f', 9e15, '{}')").run();
  if (filler > 0) db.prepare("INSERT INTO answers VALUES ('filler', 'f', 9e15, ?)").run('x'.repeat(filler));
  db.close();
  return path;
}

const backups = (directory: string) => readdirSync(directory).filter((name) => name.includes('.schema-'));

it.each(['daemon', 'administrator'] as const)(
  'the store copies the database before a %s migrates it',
  async (role) => {
    const directory = stateDirectory();
    const path = olderDatabase(directory);
    await openAt(path, role).check();
    expect(backups(directory)).toEqual(['agentd.db.schema-2.backup']);
    const copy = join(directory, 'agentd.db.schema-2.backup');
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const db = new Database(copy, { readonly: true });
    expect(db.pragma('user_version', { simple: true })).toBe(2);
    expect(db.prepare('SELECT key FROM answers').pluck().all()).toEqual(['k']);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    db.close();
  },
);

it('a migration makes an older database release its free pages from then on (auto_vacuum = INCREMENTAL)', async () => {
  const path = olderDatabase(stateDirectory(), 1_000_000);
  const INCREMENTAL = 2;
  const store = openAt(path);
  const db = new Database(path, { readonly: true });
  expect(db.pragma('auto_vacuum', { simple: true })).toBe(INCREMENTAL);
  expect(db.prepare('SELECT key FROM answers ORDER BY key').pluck().all()).toEqual(['filler', 'k']);
  db.close();
  await store.check();
});

it('the store does not copy a new database or a database that is up to date', async () => {
  const directory = stateDirectory();
  const path = join(directory, 'agentd.db');
  await openAt(path).close();
  await openAt(path).close();
  expect(backups(directory)).toEqual([]);
});

it('the sweep removes the copy of a database after 7 days, and unfinished copies that a crash left', async () => {
  const directory = stateDirectory();
  const path = olderDatabase(directory);
  const store = openAt(path);
  const age = (name: string, days: number) => {
    const at = (Date.now() - days * DAY) / 1000;
    utimesSync(join(directory, name), at, at);
  };
  writeFileSync(join(directory, 'agentd.db.schema-1.backup.new'), 'unfinished');
  writeFileSync(join(directory, 'agentd.db.of-my-own'), '');
  age('agentd.db.of-my-own', 100);
  age('agentd.db.schema-2.backup', 6.9);
  await store.maintenance.sweep();
  expect(backups(directory)).toEqual(['agentd.db.schema-2.backup']);
  age('agentd.db.schema-2.backup', 7.1);
  await store.maintenance.sweep();
  expect(backups(directory)).toEqual([]);
  expect(existsSync(join(directory, 'agentd.db.of-my-own'))).toBe(true);
});

it('the store overwrites an unfinished copy that a crash left, and the copy of an earlier migration attempt', async () => {
  const directory = stateDirectory();
  const path = olderDatabase(directory);
  writeFileSync(join(directory, 'agentd.db.schema-2.backup.new'), 'unfinished');
  writeFileSync(join(directory, 'agentd.db.schema-2.backup'), 'of an earlier attempt');
  await openAt(path).close();
  expect(backups(directory)).toEqual(['agentd.db.schema-2.backup']);
  const db = new Database(join(directory, 'agentd.db.schema-2.backup'), { readonly: true });
  expect(db.prepare('SELECT count(*) FROM answers').pluck().get()).toBe(1);
  db.close();
});

it.skipIf(!canMount)(
  'the store does not migrate a database that cannot be copied, and says what to do',
  () => {
    const directory = smallDisk(24);
    const path = olderDatabase(directory, 5_000_000);
    writeFileSync(join(directory, 'ballast'), Buffer.alloc(16 * 1024 * 1024, 'x'));
    expect(() => openAt(path)).toThrow(MigrationBackupFailed);
    expect(() => openAt(path)).toThrow(
      /^The database must be migrated, and its backup .*agentd\.db\.schema-2\.backup could not be written: database or disk is full\. Nothing was changed\. Make 5 MiB of space available there, then start again\.$/,
    );
    expect(backups(directory)).toEqual([]);
    const db = new Database(path);
    expect(db.pragma('user_version', { simple: true })).toBe(2);
    db.close();
  },
);

it('the time of the last backup is known to other processes of the store', async () => {
  const directory = stateDirectory();
  const path = join(directory, 'agentd.db');
  const daemon = openAt(path);
  expect(daemon.maintenance.lastBackupAt()).toBe(0);
  const began_at = Date.now();
  await openAt(path, 'administrator').maintenance.backup(join(directory, 'copy.db'));
  // File systems may store times in steps of some milliseconds.
  expect(daemon.maintenance.lastBackupAt()).toBeGreaterThan(began_at - 100);
  expect(statSync(`${path}.last-backup`).mode & 0o777).toBe(0o600);
});
