import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { percentile } from './rounds.ts';

/** How requests arrive: each connection sends its next one when the last is answered, or so many a second arrive. */
export type Arrivals = { connections: number } | { per_second: number };

export interface LoadOrder {
  port: number;
  /** The process of the server, whose processor time is measured. */
  pid: number;
  /** Connections that the warm-up keeps busy. At least as many as the measurement uses. */
  connections: number;
  /** While the measurement lasts. */
  arrivals: Arrivals;
  /** Shortest and longest warm-up, ms. */
  warm_up_ms: number;
  steady_within_ms: number;
  measure_ms: number;
}

export interface LoadResult {
  /** Answers per second. Like all figures of time, without the warm-up. */
  rate: number;
  p50_ms: number;
  p99_ms: number;
  p999_ms: number;
  /** Processor time of the server per request, µs. Unlike the rate, it hardly depends on other programs. */
  cpu_us: number;
  /** Answers with status 200, warm-up included. */
  acknowledged: number;
  /** Answers with another status. */
  refused: number;
}

/** How often the warm-up looks at the processor time, ms. */
const SLICE_MS = 2000;
/** A server is warm when this many slices in a row need no less than this share of the least before them. */
const SLICES = 3;
const STEADY = 0.98;

/**
 * Warms a server up, and then measures it.
 * @param next returns the next complete request
 * @param done resolves when the work of a request is done, if that is later than its answer
 */
export async function drive(
  order: LoadOrder,
  next: () => string,
  done?: () => Promise<void>,
): Promise<LoadResult> {
  const { port, pid, arrivals, warm_up_ms, steady_within_ms, measure_ms } = order;
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => Connection.open(port)),
  );
  const result = { acknowledged: 0, refused: 0 };
  let took: number[] = [];
  const ask = async (connection: Connection, arrived = performance.now()) => {
    const status = await connection.exchange(next());
    if (status === 200) result.acknowledged++;
    else result.refused++;
    await done?.();
    took.push(performance.now() - arrived);
  };

  const warmUp = keepBusy(connections, ask);
  await untilSteady(() => ({ cpu_ms: cpuOf(pid), count: took.length }), warm_up_ms, steady_within_ms);
  await warmUp.end();

  took = [];
  const [began, cpu_before] = [performance.now(), cpuOf(pid)];
  const measured =
    'connections' in arrivals
      ? keepBusy(connections.slice(0, arrivals.connections), ask)
      : keepArriving(connections, arrivals.per_second, ask);
  await delay(measure_ms);
  await measured.end();
  const seconds = (performance.now() - began) / 1000;
  const cpu_us = ((cpuOf(pid) - cpu_before) * 1000) / took.length;
  for (const connection of connections) connection.close();

  const sorted = Float64Array.from(took).sort();
  return {
    ...result,
    rate: took.length / seconds,
    p50_ms: percentile(sorted, 0.5),
    p99_ms: percentile(sorted, 0.99),
    p999_ms: percentile(sorted, 0.999),
    cpu_us,
  };
}

interface Load {
  /** Sends no more requests, and resolves when the last is answered. */
  end(): Promise<void>;
}

type Ask = (connection: Connection, arrived?: number) => Promise<void>;

/** Each connection has one request at a time. */
function keepBusy(connections: readonly Connection[], ask: Ask): Load {
  let over = false;
  const all = Promise.all(
    connections.map(async (connection) => {
      do await ask(connection);
      while (!over);
    }),
  );
  return {
    async end() {
      over = true;
      await all;
    },
  };
}

/**
 * Requests arrive in even steps, whether the server keeps up or not. One that finds all connections busy waits, and its
 * time counts from its arrival.
 */
function keepArriving(connections: readonly Connection[], per_second: number, ask: Ask): Load {
  const idle = [...connections];
  const waiting: number[] = [];
  const running = new Set<Promise<void>>();
  const begin = (connection: Connection, arrived: number) => {
    const run = ask(connection, arrived).then(() => {
      running.delete(run);
      const oldest = waiting.shift();
      if (oldest === undefined) idle.push(connection);
      else begin(connection, oldest);
    });
    running.add(run);
  };
  const began = performance.now();
  let arrived = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    for (const due = ((now - began) / 1000) * per_second; arrived < due; arrived++) {
      const connection = idle.pop();
      if (connection) begin(connection, now);
      else waiting.push(now);
    }
  }, 1);
  return {
    async end() {
      clearInterval(timer);
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** Resolves when the processor time of a request falls no more, or at the latest after `longest_ms`. */
async function untilSteady(
  read: () => { cpu_ms: number; count: number },
  shortest_ms: number,
  longest_ms: number,
): Promise<void> {
  let before = read();
  let least = Number.POSITIVE_INFINITY;
  let steady = 0;
  for (let passed = 0; passed < longest_ms; passed += SLICE_MS) {
    if (passed >= shortest_ms && steady >= SLICES) return;
    await delay(SLICE_MS);
    const now = read();
    const cost = (now.cpu_ms - before.cpu_ms) / Math.max(1, now.count - before.count);
    steady = cost < least * STEADY ? 0 : steady + 1;
    least = Math.min(least, cost);
    before = now;
  }
}

/**
 * Processor time that a process has used so far, ms; 0 if the system does not report it. proc(5) has user and system
 * time in hundredths of a second.
 */
function cpuOf(pid: number): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return 0;
  // The second field is the program's name in brackets, which may contain anything.
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
