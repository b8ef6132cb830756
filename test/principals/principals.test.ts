import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFECTS } from './defects.ts';

/** With fewer garbage collections, the histories need a sixth less CPU time. */
const MEMORY = ['--min-semi-space-size=64', '--max-semi-space-size=64', '--initial-heap-size=1000'];
const PROGRAM = [...MEMORY, resolve(import.meta.dirname, 'run.ts')];

/**
 * Runs `run.ts` in a separate process, because it replaces `fetch` and the clock, and inserts defects while the sources
 * load.
 */
function principals(...options: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((done) => {
    const child = execFile(process.execPath, [...PROGRAM, ...options], (_error, stdout, stderr) => {
      done({ code: child.exitCode, stdout, stderr });
    });
  });
}

describe('an attacker and a victim', () => {
  it('learn only what they may, in 20,000 random histories', { timeout: 600_000 }, async () => {
    const { code, stdout, stderr } = await principals('--histories', '20000', '--seed', '1');
    expect([stdout, code], stderr).toEqual([expect.stringContaining('obey the rules'), 0]);
  });

  it.each(Object.entries(DEFECTS))(
    'reveal a broken rule of the service if the defect %s is inserted',
    { timeout: 300_000 },
    async (name, { start, shows }) => {
      const { code, stdout, stderr } = await principals(
        ...['--defect', name, '--from', String(start), '--histories', '20'],
      );
      expect([stdout, code], stderr).toEqual([expect.stringMatching(shows), 1]);
    },
  );

  it('can replay a single history', { timeout: 60_000 }, async () => {
    const { code, stdout } = await principals('--only', '7', '--seed', '3');
    expect([stdout, code]).toEqual([expect.stringContaining('1 histories of seed 3'), 0]);
  });
});
