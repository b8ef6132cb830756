import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nextLine, startChild } from './child.ts';
import { stateDirectory } from './state-directory.ts';

const prlimit = spawnSync('prlimit', ['--version']).status === 0;

// Node.js ignores the signal SIGXFSZ, so a write beyond the limit fails like a write on a full disk.
it.skipIf(!prlimit)('the store survives a full disk, and writes again when there is space', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const child = startChild('fill-disk.ts', [path], ['prlimit', '--fsize=2000000:unlimited', '--']);
  expect(await nextLine(child)).toBe('unavailable: The store cannot be reached at the moment.');

  const room = spawnSync('prlimit', ['--pid', String(child.process.pid), '--fsize=unlimited']);
  expect(room.status, String(room.stderr)).toBe(0);
  child.process.stdin?.write('go on\n');
  expect(await nextLine(child)).toBe('saved');
});
