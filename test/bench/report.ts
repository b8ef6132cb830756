import type { Benchmark, Effort, Target } from './benchmark.ts';
import type { Machine } from './machine.ts';
import type { Series } from './rounds.ts';

/** One line of the result: our figure and the limit of the same run. */
export interface Row {
  benchmark: string;
  work: string;
  limit: string;
  unit: Benchmark['unit'];
  bare: Series;
  ours: Series;
  /** Processor time per unit of work of ours, divided by that of the limit; null if it is not measured. */
  cpu_ratio: number | null;
  /** The same two ratios to each peer. */
  peers: Readonly<Record<string, { ratio: number; cpu_ratio: number | null }>>;
  /** Our figure divided by the limit. For a rate, higher is better; for a time, lower. */
  ratio: number;
  /** Null for a peer, whose figure is only for comparison. */
  target: Target | null;
  target_met: boolean;
  ambition_met: boolean;
}

/** The output of `--json`. */
export interface Report {
  machine: Machine;
  effort: Effort;
  rows: readonly Row[];
}

export function rowsOf(benchmark: Benchmark, [bare, ...others]: readonly Series[]): Row[] {
  if (!bare) throw new Error('nothing was measured');
  const { name, work, limit, unit, peers = [], ours } = benchmark;
  const targets = [...peers.map(() => null), ...ours.map(({ target }) => target)];
  const measuredPeers = others.slice(0, peers.length);
  return others.map((series, place) => {
    const target = targets[place] ?? null;
    const ratio = series.median / bare.median;
    const reached = target && 'ratio' in target ? ratio : series.median;
    const meets = (wanted: number) => (unit.endsWith('/s') ? reached >= wanted : reached <= wanted);
    return {
      benchmark: name,
      work,
      limit,
      unit,
      bare,
      ours: series,
      ratio,
      cpu_ratio: cpuRatio(series, bare),
      peers: Object.fromEntries(
        (target === null ? [] : measuredPeers).map((peer) => [
          peer.name,
          { ratio: series.median / peer.median, cpu_ratio: cpuRatio(series, peer) },
        ]),
      ),
      target,
      target_met: target !== null && meets('ratio' in target ? target.ratio : target.value),
      ambition_met: target !== null && meets(target.ambition),
    };
  });
}

function cpuRatio(one: Series, other: Series): number | null {
  const [cpu, other_cpu] = [one.figures['CPU µs'], other.figures['CPU µs']];
  return cpu && other_cpu ? cpu / other_cpu : null;
}

export function table({ machine, effort, rows }: Report): string {
  const { cpu, cores, system, versions, pinned, load } = machine;
  const lines = rows.map((row) => [
    row.benchmark,
    row.ours.name,
    spread(row.bare, row.unit),
    processorTime(row.bare),
    spread(row.ours, row.unit),
    processorTime(row.ours),
    `${(row.ratio * 100).toFixed(0)} %`,
    words(row.target, row),
    judgement(row),
  ]);
  return [
    `${cpu}, ${cores} cores, ${system}, load ${load.toFixed(1)}; server and load ${pinned ? 'each on its own core' : 'not pinned'}`,
    Object.entries(versions)
      .map((entry) => entry.join(' '))
      .join(', '),
    `medians of ${effort.rounds} interleaved rounds [lowest … highest]`,
    '',
    ...columns([['', 'what', 'bare limit', 'CPU', 'agentd', 'CPU', 'ratio', 'target', ''], ...lines]),
    '',
    ...rows.flatMap(notes),
    '',
  ].join('\n');
}

function spread({ median, lowest, highest }: Series, unit: string): string {
  const figure = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
  return `${figure(median)} ${unit} [${figure(lowest)} … ${figure(highest)}]`;
}

function processorTime({ figures }: Series): string {
  const us = figures['CPU µs'];
  return us === undefined ? '–' : `${us.toFixed(0)} µs`;
}

function judgement({ target, target_met, ambition_met }: Row): string {
  if (target === null) return 'peer';
  if (ambition_met) return 'ambition';
  return target_met ? 'met' : 'missed';
}

function words(target: Row['target'], { unit }: Row): string {
  if (target === null) return '–';
  if ('value' in target) return `≤ ${target.value} ${unit}`;
  return `${unit.endsWith('/s') ? '≥' : '≤'} ${Math.round(target.ratio * 100)} %`;
}

/** Lines that describe the work and the limit, with the figures and counts of both. */
function notes({ benchmark, work, limit, bare, ours, peers }: Row): string[] {
  const list = (record: Readonly<Record<string, number>>, digits: number) =>
    Object.entries(record).map(([name, value]) => `${name} ${value.toFixed(digits)}`);
  const side = ({ name, figures, counts }: Series) => {
    const all = [...list(figures, 1), ...list(counts, 0)];
    return all.length > 0 ? [`    ${name}: ${all.join(', ')}`] : [];
  };
  const compared = Object.entries(peers).map(([name, { ratio, cpu_ratio }]) => {
    const cpus = cpu_ratio === null ? '' : `, ${cpu_ratio.toFixed(2)}× its CPU`;
    return `    of ${name}: ${(ratio * 100).toFixed(0)} %${cpus}`;
  });
  return [`${benchmark}: ${work}; limit: ${limit}`, ...side(bare), ...side(ours), ...compared];
}

function columns(lines: readonly (readonly string[])[]): string[] {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
