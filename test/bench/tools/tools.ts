import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Contender } from '../benchmark.ts';
import { ask, startServer } from '../process.ts';
import type { CallOrder, CallResult } from './call.ts';

const program = fileURLToPath(new URL('call.ts', import.meta.url));
const api = fileURLToPath(new URL('api.ts', import.meta.url));

/** A call of a tool that reads, made by 64 runs at once, each for a different person. */
export const readCall: Benchmark = {
  name: 'tools',
  work: 'a tool call that reads: arguments, person, credential, request, trace; 64 at once',
  limit: 'fetch with the same request, and parsing its JSON',
  unit: 'requests/s',
  bare: { name: 'bare', round: roundOf('bare', 'read') },
  ours: [{ name: 'read', target: { ratio: 1 / 1.5, ambition: 0.8 }, round: roundOf('ours', 'read') }],
};

/** A call that writes: its record is on disk before the request is sent, and its outcome after. */
export const writeCall: Benchmark = {
  name: 'tools',
  work: 'a tool call that writes: the same, and the journal synced to disk before and after; 64 at once',
  limit: 'fetch with the same request, and parsing its JSON',
  unit: 'requests/s',
  bare: { name: 'bare', round: roundOf('bare', 'write') },
  ours: [
    { name: 'journaled write', target: { ratio: 1 / 2.5, ambition: 0.5 }, round: roundOf('ours', 'write') },
  ],
};

function roundOf(contender: CallOrder['contender'], effect: CallOrder['effect']): Contender['round'] {
  return async ({ warm_up_ms, measure_ms }) => {
    const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-tools-'));
    const server = await startServer([api], { part: 'load' });
    try {
      const url = `http://127.0.0.1:${server.port}`;
      const order: CallOrder = { contender, effect, url, directory, warm_up_ms, measure_ms };
      const { rate, cpu_us, ...counts } = await ask<CallResult>(program, order, { part: 'server' });
      return { value: rate, figures: { 'CPU µs': cpu_us }, counts };
    } finally {
      await server.stop();
      await rm(directory, { recursive: true });
    }
  };
}
