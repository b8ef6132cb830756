import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Contender } from '../benchmark.ts';
import { ask } from '../process.ts';
import type { GuardOrder, GuardResult } from './check.ts';

const program = fileURLToPath(new URL('check.ts', import.meta.url));

/** Checks a message in all layers of the loop guard, and stores its verdict, synced to disk. */
export const guard: Benchmark = {
  name: 'guard',
  work: 'the loop guard, all layers, synced to disk, 64 at once',
  limit: 'four sliding windows with better-sqlite3 NORMAL, one transaction per check',
  unit: 'checks/s',
  bare: { name: 'bare', round: roundOf('bare') },
  ours: [{ name: 'agentd', target: { ratio: 0.7, ambition: 1.5 }, round: roundOf('ours') }],
};

function roundOf(contender: GuardOrder['contender']): Contender['round'] {
  return async ({ warm_up_ms, measure_ms }) => {
    const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-guard-'));
    try {
      const order: GuardOrder = { contender, directory, warm_up_ms, measure_ms };
      const { rate, ...counts } = await ask<GuardResult>(program, order, { part: 'server' });
      return { value: rate, counts };
    } finally {
      await rm(directory, { recursive: true });
    }
  };
}
