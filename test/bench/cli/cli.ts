import { fileURLToPath } from 'node:url';
import type { Benchmark, Contender } from '../benchmark.ts';
import { timeRun } from '../process.ts';
import { percentile } from '../rounds.ts';

const program = fileURLToPath(new URL('../../../bin/agentd.js', import.meta.url));

/** The commands that scripts, supervisors and people use most often, compared with a start of Node.js alone. */
export const cli: Benchmark = {
  name: 'cli',
  work: 'a command from start to exit, p50',
  limit: 'node -e 0',
  unit: 'ms',
  bare: { name: 'bare', round: spawns(['-e', '0']) },
  ours: ['--version', '--help'].map((option) => ({
    name: `agentd ${option}`,
    target: { ratio: 1.9, ambition: 1.7 },
    round: spawns([program, option]),
  })),
};

function spawns(argv: readonly string[]): Contender['round'] {
  return async (effort) => {
    await timeRun(argv); // After this run, the files of the program are in the page cache.
    const took: number[] = [];
    while (took.length < effort.spawns) took.push(await timeRun(argv));
    took.sort((a, b) => a - b);
    return { value: percentile(took, 0.5), figures: { 'p99 ms': percentile(took, 0.99) } };
  };
}
