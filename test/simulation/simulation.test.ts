import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { effort } from '../support/effort.ts';
import { defectsFit, runProgram } from '../support/random-runs.ts';
import { BUGS } from './bugs.ts';

const RUN = resolve(import.meta.dirname, 'run.ts');
/** The bugs that are inserted: one, or all of them in `npm run test:thorough`. */
const INSERTED = effort<readonly string[]>(['written-before-journal'], Object.keys(BUGS));
/** The seeds that find a bug. */
const FINDING = new Set(Object.values(BUGS).map(({ seed }) => seed));

const simulate = (...options: string[]) => runProgram(RUN, ...options);

describe('two daemons on one store', () => {
  it('answer each message once or report a failure, in random runs', { timeout: 600_000 }, async () => {
    const options = effort(['--from', [...FINDING].join(','), '--seeds', '1'], ['--seeds', '20000']);
    const { code, stdout, stderr } = await simulate(...options);
    expect([stdout, code], stderr).toEqual([expect.stringMatching(/^\d+ seeds passed\n$/), 0]);
  });

  it('behave exactly the same with the same seed', { timeout: 120_000 }, async () => {
    const all = await simulate('--seeds', '3', '--from', '107', '--trace');
    expect(all.stdout.split('\n').length).toBeGreaterThan(150);
    const alone = await simulate('--seed', '109');
    expect(all.stdout).toContain(alone.stdout.replace('1 seeds passed', '3 seeds passed'));
  });

  defectsFit(BUGS);

  it.each(INSERTED)('show the expected failure with the bug %s', { timeout: 120_000 }, async (name) => {
    const bug = BUGS[name] as (typeof BUGS)[string];
    const { code, stdout, stderr } = await simulate(
      '--bug',
      name,
      '--from',
      String(bug.seed),
      '--seeds',
      '1',
    );
    expect([stdout, code], stderr).toEqual([expect.stringMatching(bug.shows), 1]);
    expect(stdout).toContain(
      `seed ${bug.seed} (to repeat: npm run simulate -- --bug ${name} --seed ${bug.seed})`,
    );
  });
});
