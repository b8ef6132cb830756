import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { effort } from '../../support/effort.ts';
import { fastStateDirectory } from './state-directory.ts';

// The contract of the store (test/contract) tests what a limit decides. These tests are about many hits.

function fixture() {
  const path = join(fastStateDirectory(), 'agentd.db');
  const time = { now: 1_000_000 };
  const open = (): SqliteStore => {
    const store = openSqliteStore(path, { role: 'daemon', clock: { now: () => time.now } });
    onTestFinished(() => store.close());
    return store;
  };
  return { path, time, open };
}

it('the store writes few bytes for a hit, however many hits are in the window', async () => {
  const { path, time, open } = fixture();
  const store = open();
  // An administrator's tool would be refused, but this trigger is made after the store was opened.
  const db = new Database(path);
  db.exec(`CREATE TABLE sizes (bytes INTEGER);
    CREATE TRIGGER counted AFTER INSERT ON journal BEGIN INSERT INTO sizes VALUES (length(new.changes) + length(new.docs)); END`);
  const limit = { max: 1_000_000, window_ms: 60_000 };
  const rounds = effort(400, 2000);
  const hits = 20 * rounds;
  for (let round = 0; round < rounds; round++) {
    time.now += 10;
    await Promise.all(Array.from({ length: 20 }, () => store.limits.hit('k', limit)));
    await store.check();
  }
  expect(db.prepare('SELECT max(bytes) FROM sizes').pluck().get()).toBeLessThan(3000);
  db.exec('DROP TRIGGER counted; DROP TABLE sizes');
  db.close();
  await store.close();
  expect(await open().limits.hit('k', limit)).toMatchObject({ remaining: 1_000_000 - hits - 1 });
});
