import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BackupFailed, RestoreRefused, StoreLocked } from '../../../src/daemon/store/failures.ts';
import { restoreSqliteStore } from '../../../src/daemon/store/kernels/sqlite/restore.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { aPendingAction, aSession, aTrace, aTurn } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';

// The rules of agentd-backup(1) and agentd-restore(1).

const clock = { now: () => Date.now() };
let folder: string;
let path: string;
let backup: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentd-restore-'));
  path = join(folder, 'agentd.db');
  backup = join(folder, 'backup.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(): SqliteStore {
  return openSqliteStore(path, { role: 'daemon', clock, traceRetentionMs: 1000 });
}

async function begin(store: SqliteStore, session_id: string): Promise<void> {
  await saveSession(store, aSession(clock.now(), { session_id }));
}

async function sessionsOf(store: SqliteStore): Promise<string[]> {
  const ids = (await store.sessions.list({ limit: 10 })).map(({ session_id }) => session_id);
  await store.close();
  return ids.sort();
}

/** The id of the daemon's user, for tests that run as root. */
const USER = 10001;

const NOW = expect.any(Number);

describe('a backup', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'that root restores belongs to the owner of the directory',
    async () => {
      const store = open();
      await store.maintenance.backup(backup);
      await store.close();
      chownSync(folder, USER, USER);
      rmSync(join(folder, 'agentd.lock'));
      chownSync(backup, 0, 0);
      await restoreSqliteStore(path, backup);
      expect(['agentd.db', 'agentd.lock'].map((name) => statSync(join(folder, name)).uid)).toEqual([
        USER,
        USER,
      ]);
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    'that root restores into a new directory belongs to the owner of the directory above',
    async () => {
      const store = open();
      await store.maintenance.backup(backup);
      await store.close();
      chownSync(folder, USER, USER);
      const state = join(folder, 'a', 'state');
      await restoreSqliteStore(join(state, 'agentd.db'), backup);
      const made = [join(folder, 'a'), state, join(state, 'agentd.db')];
      expect(made.map((one) => statSync(one).uid)).toEqual([USER, USER, USER]);
    },
  );

  it.each([
    ['a pending question as withdrawn', false, { state: 'withdrawn', started_at: null }],
    ['a confirmed action as sent, with an unknown outcome', true, { state: 'unknown', started_at: NOW }],
  ])(
    'restores %s, because it may have been carried out after the backup',
    async (_, isConfirmed, restored) => {
      let store = open();
      const session = aSession(clock.now());
      await saveSession(store, session);
      const claim = await store.sessions.claim(session.session_id);
      if (claim === null) throw new Error('the session was already claimed');
      const pending = aPendingAction(session);
      const { action_id } = pending;
      const turn = { record: aTurn(), ttl_ms: 60_000 };
      await store.commitTurn(claim, { turn, trace: aTrace(session), pending: [pending] });
      const answer = { confirmed: [action_id], declined: [], answered_at: clock.now() };
      if (isConfirmed) expect(await store.actions.answer(claim, answer, 'turn')).toBe('settled');
      await store.maintenance.backup(backup);
      if (!isConfirmed) expect(await store.actions.answer(claim, answer, 'turn')).toBe('settled');
      expect(await store.actions.settle(claim, action_id, 'started', 'turn')).toBe('settled');
      await store.close();

      await restoreSqliteStore(path, backup);
      store = open();
      expect(await store.actions.pendingIn(session.session_id)).toEqual([]);
      expect(await store.actions.find(action_id)).toMatchObject(restored);
      expect(await store.actions.sentIn(session.session_id)).toHaveLength(isConfirmed ? 1 : 0);
      await store.close();
    },
  );

  it('contains everything that was committed, is readable only by its owner, and can be restored', async () => {
    const store = open();
    await begin(store, 'before');
    await store.maintenance.backup(backup);
    await begin(store, 'after');
    await store.close();
    expect(statSync(backup).mode & 0o777).toBe(0o600);

    expect(await restoreSqliteStore(path, backup)).toBe(`${path}.before-restore`);
    expect(await sessionsOf(open())).toEqual(['before']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    // A second restore does not replace the only copy of the store that was in use.
    expect(await restoreSqliteStore(path, backup)).toBe(`${path}.before-restore-2`);
    // The replaced store is still complete.
    await restoreSqliteStore(path, `${path}.before-restore`);
    expect(await sessionsOf(open())).toEqual(['after', 'before']);
  });

  it('does not overwrite an existing file', async () => {
    const store = open();
    writeFileSync(backup, 'precious');
    await expect(store.maintenance.backup(backup)).rejects.toThrow(BackupFailed);
    expect(readFileSync(backup, 'utf8')).toBe('precious');
    await expect(store.maintenance.backup(join(folder, 'none', 'x.db'))).rejects.toThrow(BackupFailed);
    await store.close();
  });
});

describe('a restore', () => {
  it('works without an existing store', async () => {
    const store = open();
    await begin(store, 'one');
    await store.maintenance.backup(backup);
    await store.close();
    const other = join(folder, 'new', 'agentd.db');
    expect(await restoreSqliteStore(other, backup)).toBeNull();
    expect(existsSync(other)).toBe(true);
  });

  it('is refused while a daemon runs, and changes nothing', async () => {
    const store = open();
    await begin(store, 'one');
    await store.maintenance.backup(backup);
    await expect(restoreSqliteStore(path, backup)).rejects.toThrow(StoreLocked);
    expect(await sessionsOf(store)).toEqual(['one']);
  });

  it.each([
    ['a missing file', () => undefined, /it does not exist/],
    ['a file of another kind', () => writeFileSync(backup, 'x'.repeat(5000)), /not a database/],
    ['an empty file', () => writeFileSync(backup, ''), /another layout/],
    [
      'a different database',
      () => {
        const db = new Database(backup);
        db.exec('CREATE TABLE t (x)');
        db.close();
      },
      /another layout/,
    ],
    [
      'a store of another version',
      () => {
        const db = new Database(backup);
        db.exec('ALTER TABLE docs ADD COLUMN later TEXT');
        db.close();
      },
      /another layout than the stores of this version of agentd: table docs\. The store was not changed/,
    ],
    [
      'a store with a trigger of its own',
      () => {
        const db = new Database(backup);
        db.exec(
          "CREATE TRIGGER t AFTER INSERT ON docs BEGIN UPDATE docs SET doc = 'of mallory'; END; DROP INDEX docs_by_name",
        );
        db.close();
      },
      /another layout.*: index docs_by_name, trigger t\./,
    ],
    [
      'a damaged store',
      () => {
        const bytes = readFileSync(backup);
        bytes.fill(0x5a, 4096 * 4, 4096 * 12);
        writeFileSync(backup, bytes);
      },
      /damaged|cannot be read/,
    ],
  ])('refuses %s, and changes nothing', async (what, make, why) => {
    const store = open();
    await begin(store, 'one');
    if (/store/.test(what) && !/empty/.test(what)) await store.maintenance.backup(backup);
    await store.close();
    make();
    await expect(restoreSqliteStore(path, backup)).rejects.toThrow(RestoreRefused);
    await expect(restoreSqliteStore(path, backup)).rejects.toThrow(why);
    expect(existsSync(`${path}.restored`)).toBe(false);
    expect(await sessionsOf(open())).toEqual(['one']);
  });

  it('replaces a damaged store, and does not apply the write-ahead log of the damaged store to the restored store', async () => {
    const store = open();
    await begin(store, 'good');
    await store.maintenance.backup(backup);
    await begin(store, 'lost');
    // Copies the state that a killed process leaves, with its write-ahead log.
    for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, join(folder, `killed.db${end}`));
    await store.close();
    const killed = join(folder, 'killed.db');
    const bytes = readFileSync(killed);
    bytes.fill(0x5a, 0, 100);
    writeFileSync(killed, bytes);
    for (const end of ['', '-wal']) copyFileSync(join(folder, `killed.db${end}`), `${path}${end}`);
    await restoreSqliteStore(path, backup);
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(await sessionsOf(open())).toEqual(['good']);
  });
});
