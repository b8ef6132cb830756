import type { Benchmark, Effort, Target } from './benchmark.ts';
import type { Machine } from './machine.ts';
import type { Series } from './rounds.ts';

/** One line of the result: ours against the limit of the same run. */
export interface Row {
  benchmark: string;
  work: string;
  limit: string;
  unit: Benchmark['unit'];
  bare: Series;
  ours: Series;
  /** Ours of the limit: of a rate more is better, of a time less. */
  ratio: number;
  target: Target;
  target_met: boolean;
  ambition_met: boolean;
}

/** What `--json` prints. */
export interface Report {
  machine: Machine;
  effort: Effort;
  rows: readonly Row[];
}

export function rowsOf(benchmark: Benchmark, [bare, ...all]: readonly Series[]): Row[] {
  if (!bare) throw new Error('nothing was measured');
  const { name, work, limit, unit } = benchmark;
  return all.flatMap((ours, index) => {
    const target = benchmark.ours[index]?.target;
    if (!target) return [];
    const ratio = ours.median / bare.median;
    const reached = 'ratio' in target ? ratio : ours.median;
    const meets = (wanted: number) => (unit === 'requests/s' ? reached >= wanted : reached <= wanted);
    const wanted = 'ratio' in target ? target.ratio : target.value;
    return [
      {
        benchmark: name,
        work,
        limit,
        unit,
        bare,
        ours,
        ratio,
        target,
        target_met: meets(wanted),
        ambition_met: meets(target.ambition),
      },
    ];
  });
}

export function table({ machine, effort, rows }: Report): string {
  const { cpu, cores, system, versions, pinned, load } = machine;
  const lines = rows.map((row) => [
    row.benchmark,
    row.ours.name,
    spread(row.bare, row.unit),
    spread(row.ours, row.unit),
    `${(row.ratio * 100).toFixed(0)} %`,
    words(row.target, row),
    row.ambition_met ? 'ambition' : row.target_met ? 'met' : 'missed',
  ]);
  return [
    `${cpu}, ${cores} cores, ${system}, load ${load.toFixed(1)}; server and load ${pinned ? 'on a core each' : 'not pinned'}`,
    Object.entries(versions)
      .map((entry) => entry.join(' '))
      .join(', '),
    `medians of ${effort.rounds} interleaved rounds [lowest … highest]`,
    '',
    ...columns([['', 'what', 'bare limit', 'agentd', 'ratio', 'target', ''], ...lines]),
    '',
    ...rows.flatMap(notes),
    '',
  ].join('\n');
}

function spread({ median, lowest, highest }: Series, unit: string): string {
  const figure = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
  return `${figure(median)} ${unit} [${figure(lowest)} … ${figure(highest)}]`;
}

function words(target: Target, { unit }: Row): string {
  if ('value' in target) return `≤ ${target.value} ${unit}`;
  return `${unit === 'requests/s' ? '≥' : '≤'} ${Math.round(target.ratio * 100)} %`;
}

/** What the limit is, and the figures and counts of both sides. */
function notes({ benchmark, work, limit, bare, ours }: Row): string[] {
  const list = (record: Readonly<Record<string, number>>, digits: number) =>
    Object.entries(record).map(([name, value]) => `${name} ${value.toFixed(digits)}`);
  const side = ({ name, figures, counts }: Series) => {
    const all = [...list(figures, 1), ...list(counts, 0)];
    return all.length > 0 ? [`    ${name}: ${all.join(', ')}`] : [];
  };
  return [`${benchmark}: ${work}; limit: ${limit}`, ...side(bare), ...side(ours)];
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
