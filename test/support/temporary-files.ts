import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The in-memory file system of Linux. */
const MEMORY = '/dev/shm';
/** How many bytes in memory the tests may need. A container may have much less. */
const ENOUGH = 4 * 1024 * 1024 * 1024;

/**
 * One directory for everything that a run writes. It is removed at the end, even if a test was interrupted. The compiled
 * code of the tests' own tools is kept. It is in memory, so that a busy disk slows nothing down:
 * no test pulls the plug of the machine.
 */
export default function setup(): () => void {
  process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../../dist/.compiled');
  const directory = mkdtempSync(join(hasMemory() ? MEMORY : tmpdir(), 'agentd-tests-'));
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH;
}
