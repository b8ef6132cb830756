import type { Effort, Sample } from './benchmark.ts';
import type { Arrivals, LoadOrder, LoadResult } from './load.ts';
import { ask, type Server } from './process.ts';

const CONNECTIONS = 64;
/** As many requests as the server can answer, on all connections. */
export const SATURATED: Arrivals = { connections: CONNECTIONS };

/**
 * Measures a server over HTTP with a program that carries out a `LoadOrder`, and stops the server.
 * @param more what else the program needs
 */
export async function measureServer(
  server: Server,
  program: string,
  arrivals: Arrivals,
  { warm_up_ms, steady_within_ms, measure_ms }: Effort,
  more: object = {},
): Promise<LoadResult> {
  const { port, pid } = server;
  const order: LoadOrder = {
    port,
    pid,
    connections: CONNECTIONS,
    arrivals,
    warm_up_ms,
    steady_within_ms,
    measure_ms,
  };
  const result = await ask<LoadResult>(program, { ...order, ...more }, { part: 'load' });
  await server.stop();
  return result;
}

/** @param value the figure of the result that is compared */
export function sampleOf(
  result: LoadResult,
  value: 'rate' | 'p50_ms',
  kept: Readonly<Record<string, number>> = {},
): Sample {
  const { rate, p50_ms, p99_ms, p999_ms, cpu_us, ...counts } = result;
  const figures = { 'CPU µs': cpu_us, 'p50 ms': p50_ms, 'p99 ms': p99_ms, 'p99.9 ms': p999_ms };
  return { value: result[value], figures, counts: { ...counts, ...kept } };
}
