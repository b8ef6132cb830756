/**
 * A benchmark compares agentd with a limit: the least code that could do the same work. Only the ratio of the two is
 * meaningful, because the speed of one machine varies by a third within minutes.
 */
export interface Benchmark {
  /** The name to type: `npm run bench <name>`. */
  name: string;
  /** A description of one unit of work. */
  work: string;
  /** A description of the limit. */
  limit: string;
  unit: 'requests/s' | 'checks/s' | 'events/s' | 'µs' | 'ms' | 'KiB';
  /** Creates the data from which all rounds start. The returned function removes it. */
  prepare?(effort: Effort): Promise<() => Promise<void>>;
  bare: Contender;
  /** Other software that does the same work: measured for comparison, without a target. */
  peers?: readonly Contender[];
  ours: readonly (Contender & { target: Target })[];
}

export interface Contender {
  name: string;
  /** Measures one round, in separate processes. */
  round(effort: Effort): Promise<Sample>;
}

/** The target: a share of the limit, or a value in the benchmark's unit. */
export type Target = { ratio: number; ambition: number } | { value: number; ambition: number };

export interface Sample {
  /** In the benchmark's unit. */
  value: number;
  /** Further figures of the round by name, such as percentiles. */
  figures?: Readonly<Record<string, number>>;
  /**
   * Counts of the work that was acknowledged and of the work that was stored. They must be equal, because a fast wrong
   * answer does not count.
   */
  counts?: Readonly<Record<string, number>>;
}

/** The amount of work. */
export interface Effort {
  rounds: number;
  warm_up_ms: number;
  /** A server that needs less and less processor time per request is warmed up no longer than this. */
  steady_within_ms: number;
  measure_ms: number;
  /** Signed-in people who chat, each with a session. */
  people: number;
  /** Sessions in the store when the daemon starts. */
  sessions: number;
  /** Event streams that are open at once. */
  streams: number;
  /** Number of timed process starts per round. */
  spawns: number;
}

/**
 * During its first three seconds, a server reaches only two thirds of its speed. Code that V8 optimizes late, because
 * there is much of it, gets faster until about 25,000 requests, in steps with pauses between them. In its first ten
 * seconds, a daemon may also have less to do than later: it does not move anything out of its journal yet.
 */
export const FULL: Effort = {
  rounds: 3,
  warm_up_ms: 12_000,
  steady_within_ms: 40_000,
  measure_ms: 4000,
  people: 20_000,
  sessions: 100_000,
  streams: 10_000,
  spawns: 20,
};

/** An effort that only shows that everything runs. Its figures are meaningless. */
export const QUICK: Effort = {
  rounds: 1,
  warm_up_ms: 0,
  steady_within_ms: 0,
  measure_ms: 10,
  people: 100,
  sessions: 100,
  streams: 10,
  spawns: 1,
};
