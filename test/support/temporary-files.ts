import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';

/** The in-memory file system of Linux. */
const MEMORY = '/dev/shm';
/** How many bytes in memory the tests may need. A container may have much less. */
const ENOUGH = 512 * 1024 * 1024;

/**
 * One directory for everything that a run writes. It is removed at the end, even if a test was interrupted. The compiled
 * code of the tests' own tools is kept. `npm run test:unit` writes to memory, so that a
 * busy disk does not slow it down.
 */
export default function setup({ vitest }: TestProject): () => void {
  process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../../dist/.compiled');
  const isUnit = vitest.projects.every(({ name }) => name === 'unit' || name === 'mocking');
  const directory = mkdtempSync(join(isUnit && hasMemory() ? MEMORY : tmpdir(), 'agentd-tests-'));
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH;
}
