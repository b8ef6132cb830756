import type { CaseResult, EvalCase } from '../../daemon/admin/eval.ts';
import type { Column } from '../output.ts';

/** A result with that of an earlier output; null if the case is not in it. */
type Compared = CaseResult & { before: boolean | null };

/** The last column is only for a comparison. */
export const CASE_COLUMNS: readonly Column<Compared>[] = [
  { title: 'CASE', json: 'name', narrow: 'wrap' },
  {
    title: 'PASSED',
    value: ({ passed_runs, repeat }) => `${passed_runs}/${repeat}`,
  },
  { title: 'CALLS', json: 'calls', align: 'right' },
  { title: 'TOKENS', json: 'tokens', align: 'right' },
  { title: 'TIME', value: ({ took_ms }) => `${(took_ms / 1000).toFixed(1)} s`, align: 'right' },
  { title: 'BEFORE', value: ({ passed, before }) => changeInWords(passed, before) },
];

function changeInWords(passed: boolean, before: boolean | null): string {
  if (before === null) return 'new';
  if (before === passed) return 'same';
  return passed ? 'failed before' : 'passed before';
}

/** Maximum number of failures of one case that are shown. */
const SHOWN_MAX = 5;

/** The failures of each case, with the place of the case. */
export function failuresInWords(results: readonly CaseResult[]): string[] {
  return results
    .filter(({ passed }) => !passed)
    .flatMap(({ name, file, line, repeat, failures }) => {
      const shown = failures.slice(0, SHOWN_MAX).map(({ run, turn, what, detail }) => {
        const places = [
          ...(repeat > 1 ? [`run ${run}`] : []),
          ...(turn === null ? [] : [`turn ${turn}`]),
          what,
        ];
        return `  ${places.join(', ')}: ${detail}`;
      });
      const more = failures.length - SHOWN_MAX;
      return [
        '',
        `${name} (${locationOf({ file, line })})`,
        ...shown,
        ...(more > 0 ? [`  and ${more} more`] : []),
      ];
    });
}

/** Where a case is written: `orders.yaml, line 4`. */
export function locationOf({ file, line }: Pick<EvalCase, 'file' | 'line'>): string {
  return line === null ? file : `${file}, line ${line}`;
}

export function summarize(results: readonly Compared[], before: ReadonlyMap<string, boolean> | null) {
  const passed = results.filter((result) => result.passed).length;
  const failed = results.length - passed;
  const worse = results.filter((result) => result.before === true && !result.passed).length;
  const better = results.filter((result) => result.before === false && result.passed).length;
  const compared = before === null ? '' : `; ${worse} passed before, ${better} failed before`;
  return { passed, failed, line: `\n${passed} passed, ${failed} failed${compared}` };
}
