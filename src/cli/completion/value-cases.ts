import type { ValueKind, Vocabulary } from './vocabulary.ts';

/** What is offered for a value, and the patterns of `case` that say where: `logs:--level`, `completion:1`. */
export interface ValueCase {
  patterns: readonly string[];
  kind: Exclude<ValueKind, 'free'>;
}

/**
 * Where a value can be offered, for shells that know `case`: after an option, and at each place. An option that
 * is the same wherever it is taken stands there once, for all commands.
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
