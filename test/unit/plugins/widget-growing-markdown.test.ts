import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrowingMarkdown } from '../../../plugins/webchat/widget/markdown/growing.ts';
import { parseMarkdown } from '../../../plugins/webchat/widget/markdown/parse.ts';
import { listMarkdown, ordinaryMarkdown } from '../../fixtures/hostile-markdown.ts';

/** The text up to each end of a piece. */
function* growths(pieces: readonly string[]): Generator<string> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    yield text;
  }
}

function wordsOf(text: string): string[] {
  return text.match(/\S*\s*/g) ?? [];
}

const PIECES = [
  ...['a', 'word ', ' ', '\n', '\n\n', '\r', '\r\n', '\t', '    ', '\u202e', '1'],
  ...['- ', '- a\n', '  - b\n', '* ', '1. ', '2. c\n', '3) ', '> ', '> q\n', '# ', '---', '---\n', '-', '+ '],
  ...[
    '```',
    '```js\n',
    '~~~\n',
    '|',
    '| a | b |\n',
    '|---|---|\n',
    '| c |',
    '**',
    '_',
    '`',
    '[x](https://x.y)',
  ],
];

describe('Markdown that grows', () => {
  it('is parsed as the whole text is, after every piece', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }), (pieces) => {
        const growing = new GrowingMarkdown();
        for (const text of growths(pieces)) expect(growing.parse(text)).toEqual(parseMarkdown(text));
      }),
      { numRuns: 500 },
    );
  });

  it('is parsed as the whole text is, character by character', () => {
    const text = `${ordinaryMarkdown(900)}\n${listMarkdown(600)}`;
    const growing = new GrowingMarkdown();
    for (const grown of growths([...text])) expect(growing.parse(grown)).toEqual(parseMarkdown(grown));
  });

  it('may become another text', () => {
    const growing = new GrowingMarkdown();
    for (const text of ['a\n\nb\n\nc\n\nd', 'a\n\nb', '', '- a\n- b\n- c\n- d\n', 'x\n\n- b', 'x\n\n- b'])
      expect(growing.parse(text)).toEqual(parseMarkdown(text));
  });

  it('keeps the objects of finished blocks and items', () => {
    const growing = new GrowingMarkdown();
    const begin = 'one\n\ntwo\n\n- a\n- b\n- c\n';
    const before = growing.parse(begin);
    const after = growing.parse(`${begin}- d\n- e`);
    expect(after).toHaveLength(3);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
    expect(after[2]?.children[0]).toBe(before[2]?.children[0]);
    expect(after[2]?.children).toHaveLength(5);
  });

  it.each([
    ['an ordinary text', ordinaryMarkdown(20_000)],
    ['a list', listMarkdown(20_000)],
    ['short lines', 'a\n\n'.repeat(3000)],
  ])('parses of %s that comes word by word only the end again', (_title, text) => {
    const growing = new GrowingMarkdown();
    let parsed = 0;
    let blocks: readonly unknown[] = [];
    for (const grown of growths(wordsOf(text))) {
      parsed = Math.max(parsed, growing.unfinished);
      blocks = growing.parse(grown);
    }
    expect(parsed).toBeLessThan(1000);
    expect(blocks).toEqual(parseMarkdown(text));
  });

  it('is cut where a whole text is', () => {
    const text = 'word\n\n'.repeat(40_000);
    const growing = new GrowingMarkdown();
    growing.parse(text.slice(0, 150_000));
    expect(growing.parse(text)).toEqual(parseMarkdown(text));
    expect(growing.parse(`${text}more`)).toEqual(parseMarkdown(text));
  });
});
