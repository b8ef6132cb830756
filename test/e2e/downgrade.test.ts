import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { agentd } from '../support/daemon.ts';

// The rules are in agentd-deploy(7), "Upgrades and downgrades".

let directory: string;
let database: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-downgrade-'));
  mkdirSync(join(directory, 'state'), { mode: 0o700 });
  database = join(directory, 'state/agentd.db');
  const db = new Database(database);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE of_the_future (x); PRAGMA user_version = 9999;');
  db.close();
});
afterAll(() => rmSync(directory, { recursive: true }));

it('the daemon does not start with a store of a later version, says why, and does not change the store', async () => {
  const before = readFileSync(database);
  const { code, stdout, stderr } = await agentd(['serve'], { cwd: directory });
  expect([code, stdout]).toEqual([69, '']);
  expect(stderr).toContain(
    `The store at ${database} was written by a later version of agentd: its schema version is 9999`,
  );
  expect(stderr).toContain('Run the version of agentd that wrote the store, or a later one.');
  expect(readFileSync(database)).toEqual(before);
});

it.each([
  ['sessions', 'list'],
  ['backup', 'copy.db'],
])('agentd %s %s also refuses a store of a later version', async (...words) => {
  const { code, stderr } = await command(words, { cwd: directory });
  expect(code).toBe(69);
  expect(stderr).toContain('its schema version is 9999, and this version supports at most');
});

it('agentd doctor reports a store of a later version', async () => {
  const { code, stdout } = await command(['doctor'], { cwd: directory });
  expect(code).toBe(1);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('written by a later version of agentd');
});
