import { expect, it } from 'vitest';
import { lineDiff } from '../../../src/cli/commands/tools-trust.ts';
import { seededRandom } from '../../support/random.ts';

it.each([
  ['a', 'a', ['  a']],
  ['a', 'b', ['- a', '+ b']],
  ['a\nb\nc', 'a\nc', ['  a', '- b', '  c']],
  ['a\nc', 'a\nb\nc', ['  a', '+ b', '  c']],
  ['a\na', 'a', ['  a', '- a']],
])('lineDiff compares the lines of %j and %j', (before, after, lines) => {
  expect(lineDiff(before, after)).toEqual(lines);
});

it('the lines of lineDiff contain both texts completely, and common lines only once', () => {
  const { below, pick } = seededRandom(3);
  const text = () => Array.from({ length: 1 + below(12) }, () => pick(['a', 'b', 'c', ''])).join('\n');
  for (let run = 0; run < 300; run++) {
    const [before, after] = [text(), text()];
    const lines = lineDiff(before, after);
    const without = (sign: string) =>
      lines
        .filter((line) => !line.startsWith(sign))
        .map((line) => line.slice(2))
        .join('\n');
    expect([without('+'), without('-')]).toEqual([before, after]);
  }
});

it('lineDiff shows all old lines and then all new lines if there are too many lines to compare', () => {
  const [before, after] = ['a', 'b'].map((line) => Array(1_500).fill(line).join('\n')) as [string, string];
  expect(lineDiff(before, after)).toHaveLength(3_000);
});
