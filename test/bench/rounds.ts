import type { Benchmark, Contender, Effort, Sample } from './benchmark.ts';

/** All rounds of one contender. */
export interface Series {
  name: string;
  median: number;
  lowest: number;
  highest: number;
  rounds: readonly number[];
  /** Medians of the rounds. */
  figures: Readonly<Record<string, number>>;
  /** Sums over the rounds. */
  counts: Readonly<Record<string, number>>;
}

/**
 * Runs the limit, the peers and agentd in turn, with the order reversed in every other round, so that a machine that
 * slows down affects all of them.
 * @returns the series of the limit, then of the peers, then ours
 */
export async function runRounds(
  { bare, peers = [], ours }: Benchmark,
  effort: Effort,
  tell: (progress: string) => void,
): Promise<Series[]> {
  const contenders = [bare, ...peers, ...ours];
  const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < effort.rounds; round++) {
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      tell(`round ${round + 1}/${effort.rounds}: ${contender.name}`);
      samples.get(contender)?.push(await contender.round(effort));
    }
  }
  return contenders.map((contender) => seriesOf(contender.name, samples.get(contender) ?? []));
}

function seriesOf(name: string, samples: readonly Sample[]): Series {
  const rounds = samples.map(({ value }) => value);
  return {
    name,
    median: median(rounds),
    lowest: Math.min(...rounds),
    highest: Math.max(...rounds),
    rounds,
    figures: combine(
      samples.map(({ figures = {} }) => figures),
      median,
    ),
    counts: combine(
      samples.map(({ counts = {} }) => counts),
      (values) => values.reduce((sum, value) => sum + value, 0),
    ),
  };
}

function combine(
  records: readonly Readonly<Record<string, number>>[],
  join: (values: readonly number[]) => number,
): Record<string, number> {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return Object.fromEntries(
    [...names].map((name) => [name, join(records.map((record) => record[name] ?? 0))]),
  );
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** @param sorted values in ascending order @returns 0 if there are no values */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const middle = (sorted.length - 1) * share;
  const below = sorted[Math.floor(middle)] ?? 0;
  const above = sorted[Math.ceil(middle)] ?? 0;
  return (below + above) / 2;
}
