import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openAt, stateDirectory } from './state-directory.ts';

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

it('a backup is made even while the daemon reads', async () => {
  const directory = stateDirectory();
  const daemon = openAt(join(directory, 'agentd.db'));
  // The read goes on until this process waits for something.
  const read = daemon.sessions.find('nobody');
  await daemon.maintenance.backup(join(directory, 'copy.db'));
  expect(await read).toBeNull();
});

it('a backup is made even if its time cannot be noted, for example because the disk is read-only', async () => {
  const directory = stateDirectory();
  const path = join(directory, 'agentd.db');
  const daemon = openAt(path);
  mkdirSync(`${path}.last-backup`);
  await daemon.maintenance.backup(join(directory, 'copy.db'));
  expect(existsSync(join(directory, 'copy.db'))).toBe(true);
});
