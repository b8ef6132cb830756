import type { ValueKind, Vocabulary } from './vocabulary.ts';

/** The candidates for a value, and the patterns of `case` for its position: `logs:--level`, `completion:1`. */
export interface ValueCase {
  patterns: readonly string[];
  kind: Exclude<ValueKind, 'free'>;
}

/**
 * The positions that have candidates: values of options, and arguments. They are patterns for shells that have `case`.
 * An option that has the same values in all commands is listed once.
 */
export function valueCases({ commands }: Vocabulary): ValueCase[] {
  const cases: ValueCase[] = [];
  const add = (patterns: readonly string[], kind: ValueKind) => {
    if (kind !== 'free') cases.push({ patterns, kind });
  };
  const options = commands.flatMap(({ at, options }) => options.map((option) => ({ at, ...option })));
  for (const { at, flags, value } of options) {
    if (value === null) continue;
    const same = options.filter((other) => other.flags.join() === flags.join());
    const everywhere = same.every((other) => String(other.value) === String(value));
    if (!everywhere)
      add(
        flags.map((flag) => `'${at}:${flag}'`),
        value,
      );
    else if (same[0]?.at === at)
      add(
        flags.map((flag) => `*':${flag}'`),
        value,
      );
  }
  for (const { at, args } of commands)
    for (const [index, kind] of args.entries()) add([`'${at}:${index + 1}'`], kind);
  return cases;
}
