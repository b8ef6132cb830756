import { fileURLToPath } from 'node:url';
import type { Benchmark, Contender } from '../benchmark.ts';
import { ask } from '../process.ts';
import type { TokenOrder } from './check.ts';

const program = fileURLToPath(new URL('check.ts', import.meta.url));

/** The eight checks of a token, compared with only the library's check of its signature. */
export const token: Benchmark = {
  name: 'token',
  work: 'all eight checks of an HS256 token',
  limit: "jose's compactVerify (the signature alone), key imported once",
  unit: 'µs',
  bare: { name: 'bare', round: roundOf('bare') },
  ours: [{ name: 'agentd', target: { ratio: 1.25, ambition: 1.1 }, round: roundOf('ours') }],
};

function roundOf(contender: TokenOrder['contender']): Contender['round'] {
  return async ({ warm_up_ms, measure_ms }) => {
    const order: TokenOrder = { contender, warm_up_ms, measure_ms };
    return { value: await ask<number>(program, order, { part: 'server' }) };
  };
}
