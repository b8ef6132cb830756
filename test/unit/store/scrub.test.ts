import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { scrub } from '../../../src/daemon/store/kernels/sqlite/scrub.ts';
import { FilesNotRewritten } from '../../../src/daemon/store/persons/persons.ts';

test('while another process reads the database, its files cannot be cleaned; the error says what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentd-scrub-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const open = () => new Database(join(folder, 'agentd.db'), { timeout: 0 });
  const [db, reader] = [open(), open()];
  db.pragma('journal_mode = WAL');
  db.exec("CREATE TABLE t (a); INSERT INTO t VALUES ('x')");
  reader.exec('BEGIN; SELECT * FROM t');
  const failure = await scrub(db, 200).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(FilesNotRewritten);
  expect(failure).toMatchObject({
    message: 'another process is reading the database',
    advice: expect.stringContaining('Then run the command again.'),
  });
  reader.close();
  await scrub(db, 200);
  db.close();
});
