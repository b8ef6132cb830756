import type { Played } from './play.ts';

/** The maximum number of violations to print. */
const SHOWN_MAX = 8;

/** A summary of the played conversations and of the violations, with the commands to play them again. */
export function reportOf({ runs, violations, tally }: Played, seed: number): string {
  const counts = Object.entries(tally)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([what, count]) => `  ${what}: ${count}`);
  const found = violations.slice(0, SHOWN_MAX).map(({ rule, conversation, what }) => {
    const again = conversation < 0 ? '' : `\n    npm run hostile -- --seed ${seed} --only ${conversation}`;
    return `${rule}: ${what}${again}`;
  });
  const rules = Object.entries(Object.groupBy(violations, ({ rule }) => rule)).map(
    ([rule, found = []]) => `${rule}: ${found.length}`,
  );
  const verdict =
    violations.length === 0
      ? `no violations in ${runs} runs of seed ${seed}`
      : `${violations.length} violations in ${runs} runs of seed ${seed}`;
  return [...counts, verdict, ...rules, ...found].join('\n');
}
