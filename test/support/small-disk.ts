import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Whether a small file system can be mounted here: on Linux, as root. */
export const canMount = (() => {
  const directory = mountedAt(1);
  if (directory === null) return false;
  unmount(directory);
  return true;
})();

if (!canMount) console.warn('SKIPPED: tests on a full disk. They need Linux and root, to mount a tmpfs.');

/** A directory on a separate file system of this size; it is removed when the test has finished. */
export function smallDisk(mib: number): string {
  const directory = mountedAt(mib);
  if (directory === null) throw new Error('a tmpfs cannot be mounted here');
  onTestFinished(() => unmount(directory));
  return directory;
}

function mountedAt(mib: number): string | null {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-small-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=0700`, 'tmpfs', directory]);
  if (status === 0) return directory;
  rmdirSync(directory);
  return null;
}

function unmount(directory: string): void {
  // The unmount is lazy (`-l`), because a process that was killed may still be closing its files.
  spawnSync('umount', ['-l', directory]);
  rmdirSync(directory);
}
