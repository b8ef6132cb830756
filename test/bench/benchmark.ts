/**
 * A benchmark measures a piece of work against its bare limit: the least code that could do the same. Only
 * the ratio of the two says something; the same machine moves by a third within minutes.
 */
export interface Benchmark {
  /** As typed: `npm run bench <name>`. */
  name: string;
  /** What one unit of work is. */
  work: string;
  /** What the limit is made of. */
  limit: string;
  unit: 'requests/s' | 'checks/s' | 'events/s' | 'µs' | 'ms' | 'KiB';
  /** Makes what all rounds start from; the result takes it away again. */
  prepare?(effort: Effort): Promise<() => Promise<void>>;
  bare: Contender;
  /** What others do the same work with: measured beside ours, without a target. */
  peers?: readonly Contender[];
  ours: readonly (Contender & { target: Target })[];
}

export interface Contender {
  name: string;
  /** One round, in processes of its own. */
  round(effort: Effort): Promise<Sample>;
}

/** What is to be reached: so much of the limit, or a value in the benchmark's unit. */
export type Target = { ratio: number; ambition: number } | { value: number; ambition: number };

export interface Sample {
  /** In the benchmark's unit. */
  value: number;
  /** Further figures of the round by name: percentiles and the like. */
  figures?: Readonly<Record<string, number>>;
  /** What was stored against what was acknowledged: a fast wrong answer does not count. */
  counts?: Readonly<Record<string, number>>;
}

/** How much is done. */
export interface Effort {
  rounds: number;
  warm_up_ms: number;
  measure_ms: number;
  /** Signed-in people who chat, each with a session. */
  people: number;
  /** Sessions in the store when the daemon starts. */
  sessions: number;
  /** Event streams that are open at once. */
  streams: number;
  /** Processes per round that are started to be timed. */
  spawns: number;
}

/** Three seconds of warm-up: before, the server runs at two thirds of its speed. */
export const FULL: Effort = {
  rounds: 5,
  warm_up_ms: 3000,
  measure_ms: 4000,
  people: 20_000,
  sessions: 100_000,
  streams: 10_000,
  spawns: 20,
};

/** Shows that everything runs; its figures mean nothing. */
export const QUICK: Effort = {
  rounds: 1,
  warm_up_ms: 30,
  measure_ms: 100,
  people: 100,
  sessions: 100,
  streams: 20,
  spawns: 1,
};
