import { chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { StoreMissing } from '../../../src/daemon/store/failures.ts';
import { createPrivateFile, openDatabase } from '../../../src/daemon/store/kernels/sqlite/database.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { openAt, stateDirectory } from './state-directory.ts';

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

it('the store creates the directory with mode 0700 and every file in it with 0600', async () => {
  const directory = join(stateDirectory(), 'a', 'state');
  const store = openAt(join(directory, 'agentd.db'));
  await store.check();
  expect(mode(directory)).toBe('700');
  for (const file of ['agentd.db', 'agentd.db-wal', 'agentd.db-shm', 'agentd.lock']) {
    expect(mode(join(directory, file)), file).toBe('600');
  }
});

describe.skipIf(process.getuid?.() !== 0)('root', () => {
  /** The id of the daemon's user. */
  const USER = 10001;
  const owners = (paths: string[]) => paths.map((path) => [statSync(path).uid, statSync(path).gid]);

  it('gives each new directory and file of the store to the owner of the directory above', () => {
    const above = stateDirectory();
    chownSync(above, USER, USER + 1);
    const directory = join(above, 'a', 'b', 'state');
    const path = join(directory, 'agentd.db');
    createPrivateFile(path);
    const made = [join(above, 'a'), join(above, 'a', 'b'), directory, path];
    expect(owners(made)).toEqual(made.map(() => [USER, USER + 1]));
    expect(mode(directory)).toBe('700');
  });

  it('does not change the owner of an existing directory', () => {
    const above = stateDirectory();
    const directory = join(above, 'state');
    mkdirSync(directory);
    chownSync(above, USER, USER);
    createPrivateFile(join(directory, 'agentd.db'));
    expect(owners([directory, join(directory, 'agentd.db')])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

it('an administrator is refused if there is no store, and nothing is created', () => {
  const directory = join(stateDirectory(), 'state');
  const path = join(directory, 'agentd.db');
  expect(() => openAt(path, 'administrator')).toThrow(StoreMissing);
  expect(() => openAt(path, 'administrator')).toThrow(
    `There is no store at ${path} yet; the daemon creates it when it first starts.`,
  );
  expect(existsSync(directory)).toBe(false);
});

it('an administrator can read and write while no daemon runs', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const session = aSession(Date.now());
  const daemon = openAt(path);
  await saveSession(daemon, session);
  await daemon.close();
  const administrator = openAt(path, 'administrator');
  expect(await administrator.sessions.find(session.session_id)).toEqual(session);
  expect(await administrator.sessions.end(session.session_id)).toBe(true);
});

it('the store is unavailable if the file is not a database', () => {
  const path = join(stateDirectory(), 'agentd.db');
  writeFileSync(path, 'something else entirely, but long enough to have a header'.repeat(20));
  expect(() => openAt(path)).toThrow(StoreUnavailable);
  expect(() => openAt(path, 'administrator')).toThrow(StoreUnavailable);
});

it('the store is unavailable if the directory cannot be created', () => {
  const directory = stateDirectory();
  writeFileSync(join(directory, 'file'), '');
  expect(() => openAt(join(directory, 'file', 'state', 'agentd.db'))).toThrow(StoreUnavailable);
  mkdirSync(join(directory, 'agentd.db'));
  expect(() => openAt(join(directory, 'agentd.db'))).toThrow(StoreUnavailable);
});

it('the store opens an existing database with synced commits, with a write-ahead log and with foreign keys', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  await openAt(path).close();
  const db = openDatabase(path);
  const FULL = 2;
  expect(db.pragma('synchronous', { simple: true })).toBe(FULL);
  expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
  expect(db.pragma('foreign_keys', { simple: true })).toBe(1);
  db.close();
});

it('the token of an ended session is no longer in the files after a sweep', async () => {
  const directory = stateDirectory();
  const path = join(directory, 'agentd.db');
  const token = 'a-token-that-must-not-linger';
  const store = openAt(path);
  const session = aSession(Date.now(), {
    metadata: {
      jwt_context: {
        has_jwt: true,
        user_id: 'u',
        email: 'u@example.com',
        token,
        token_exp: '2030-01-01T00:00:00Z',
      },
    },
  });
  await saveSession(store, session);
  const bytes = () =>
    ['agentd.db', 'agentd.db-wal'].map((file) => readFileSync(join(directory, file), 'latin1')).join();
  expect(bytes()).toContain(token);
  await store.sessions.end(session.session_id);
  await store.maintenance.sweep();
  expect(bytes()).not.toContain(token);
});

it('the sweep does not fail while another connection reads', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const store = openAt(path);
  await store.check();
  const other = new Database(path);
  other.exec('BEGIN');
  other.prepare('SELECT * FROM docs').all();
  await store.check();
  expect(await store.maintenance.sweep()).toBe(0);
  other.exec('COMMIT');
  other.close();
});
