import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { effort, isThorough } from '../support/effort.ts';
import { defectsFit, runProgram } from '../support/random-runs.ts';
import { DEFECTS } from './defects.ts';

/** With fewer garbage collections, the histories need a sixth less CPU time. */
const MEMORY = ['--min-semi-space-size=64', '--max-semi-space-size=64', '--initial-heap-size=1000'];
const PROGRAM = [...MEMORY, resolve(import.meta.dirname, 'run.ts')];

const principals = (...options: string[]) => runProgram(...PROGRAM, ...options);

describe('an attacker, a victim and a colleague', () => {
  it.each(
    effort<string[][]>(
      [['--histories', '30']],
      [
        ['--histories', '170000', '--theme', 'web'],
        ['--histories', '30000', '--theme', 'chats'],
        ['--histories', '20000', '--theme', 'deeds'],
      ],
    ),
  )('learn and do only what they may, in random histories (%s)', { timeout: 600_000 }, async (...options) => {
    const { code, stdout, stderr } = await principals(...options);
    expect([stdout, code], stderr).toEqual([expect.stringContaining('obey the rules'), 0]);
  });

  defectsFit(DEFECTS);

  it.each(Object.entries(DEFECTS).slice(0, effort(1, Object.keys(DEFECTS).length)))(
    'reveal a broken rule of the service if the defect %s is inserted',
    { timeout: 300_000 },
    async (name, { theme, shows }) => {
      const { code, stdout, stderr } = await principals(
        ...['--defect', name, '--theme', theme, '--histories', String(effort(5, 10_000))],
      );
      expect([stdout, code], stderr).toEqual([expect.stringMatching(shows), 1]);
    },
  );

  it.runIf(isThorough)('can replay a single history', { timeout: 60_000 }, async () => {
    const { code, stdout } = await principals('--only', '7', '--seed', '3');
    expect([stdout, code]).toEqual([expect.stringContaining('1 histories of seed 3'), 0]);
  });
});
