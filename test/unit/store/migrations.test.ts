import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { StoreLocked, StoreTooNew } from '../../../src/daemon/store/failures.ts';
import { migrate, readMigrations } from '../../../src/daemon/store/sqlite/migrations.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { openAt, stateDirectory } from './state-directory.ts';

const version = (db: Database.Database) => db.pragma('user_version', { simple: true });
const tables = (db: Database.Database) =>
  db.prepare('SELECT name FROM sqlite_schema ORDER BY 1').pluck().all();

function emptyDatabase(): Database.Database {
  return new Database(join(stateDirectory(), 'x.db'));
}

it('a migration applies each step once, in order', () => {
  const db = emptyDatabase();
  migrate(db, ['CREATE TABLE a (x)', 'CREATE TABLE b (x)']);
  expect(version(db)).toBe(2);
  migrate(db, ['CREATE TABLE a (x)', 'CREATE TABLE b (x)', 'CREATE TABLE c (x)']);
  expect(version(db)).toBe(3);
  expect(tables(db)).toEqual(['a', 'b', 'c']);
  db.close();
});

it('a migration does not change a database if one step fails', () => {
  const db = emptyDatabase();
  migrate(db, ['CREATE TABLE a (x)']);
  expect(() => migrate(db, ['CREATE TABLE a (x)', 'CREATE TABLE b (x)', 'CREATE TABLE a (x)'])).toThrow(
    'table a already exists',
  );
  expect(version(db)).toBe(1);
  expect(tables(db)).toEqual(['a']);
  db.close();
});

it('readMigrations finds the migrations of the repository, which are numbered without a gap', () => {
  expect(readMigrations().length).toBeGreaterThan(0);
});

it('a database of a later version is refused, and not changed', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const known = readMigrations().length;
  await openAt(path).close();
  const db = new Database(path);
  db.pragma(`user_version = ${known + 1}`);
  for (const role of ['daemon', 'administrator'] as const) {
    expect(() => openAt(path, role)).toThrow(StoreTooNew);
    expect(() => openAt(path, role)).toThrow(
      `The store at ${path} was written by a later version of agentd: its schema version is ${known + 1}, and this version supports at most ${known}.`,
    );
  }
  expect(version(db)).toBe(known + 1);

  db.pragma(`user_version = ${known}`);
  db.close();
  await openAt(path).check();
});

it('an administrator can migrate an older database, but never while a daemon runs', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  new Database(path).close();
  const administrator = openAt(path, 'administrator');
  expect(await saveSession(administrator, aSession(Date.now()))).toBe('saved');
  await administrator.close();

  const daemon = openAt(path);
  const db = new Database(path);
  db.pragma('user_version = 0');
  expect(() => openAt(path, 'administrator')).toThrow(StoreLocked);
  db.close();
  await daemon.close();
});
