import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { StoreOfAnotherLayout } from '../../../src/daemon/store/failures.ts';
import { layoutName, prepareLayout } from '../../../src/daemon/store/kernels/sqlite/layout.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { connectTo, openAt, stateDirectory } from './state-directory.ts';

it.each([
  ['a table that is missing', 'DROP TABLE items', 'table items'],
  ['a column more', 'ALTER TABLE docs ADD COLUMN later TEXT', 'table docs'],
  ['an index that is missing', 'DROP INDEX docs_by_name', 'index docs_by_name'],
  ['a trigger of its own', 'CREATE TRIGGER t AFTER INSERT ON docs BEGIN SELECT 1; END', 'trigger t'],
  ['a view of its own', 'CREATE VIEW v AS SELECT 1', 'view v'],
  [
    'many differences',
    'DROP TABLE journal; DROP TABLE items; DROP INDEX docs_by_look; CREATE TABLE x (y); CREATE TABLE z (y)',
    'index docs_by_look, table items, table journal, and 2 more',
  ],
])('a database with %s is refused by daemons and administrators, and not changed', async (_, sql, words) => {
  const path = join(stateDirectory(), 'agentd.db');
  await openAt(path).close();
  const db = connectTo(path);
  db.exec(sql);
  const tables = () => db.prepare('SELECT name, sql FROM sqlite_schema').all();
  const before = tables();
  for (const role of ['daemon', 'administrator'] as const) {
    expect(() => openAt(path, role)).toThrow(StoreOfAnotherLayout);
    expect(() => openAt(path, role)).toThrow(
      `The store at ${path} was written by another version of agentd: its layout differs (${words}). Nothing was changed.`,
    );
  }
  expect(tables()).toEqual(before);
});

it('an administrator may create the tables in an empty file', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  new Database(path).close();
  const administrator = openAt(path, 'administrator');
  expect(await saveSession(administrator, aSession(Date.now()))).toBe('saved');
  await openAt(path).check();
});

it('a copy that SQLite makes has the same layout', async () => {
  const directory = stateDirectory();
  const store = openAt(join(directory, 'agentd.db'));
  await store.maintenance.backup(join(directory, 'copy.db'));
  const copy = connectTo(join(directory, 'copy.db'));
  copy.exec('VACUUM');
  expect(() => prepareLayout(copy)).not.toThrow();
});

it('the layout has a short name', () => {
  expect(layoutName()).toMatch(/^[0-9a-f]{8}$/);
});
