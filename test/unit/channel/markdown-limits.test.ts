import { describe, expect, it } from 'vitest';
import { parseMarkdown } from '../../../src/channel/markdown/parse.ts';
import { partsOf } from '../../../src/channel/markdown/parts.ts';
import { tableLines } from '../../../src/channel/markdown/table.ts';
import { HIDDEN, shown, tame } from '../../../src/channel/markdown/tame.ts';
import { type Dialect, renderMarkdown } from '../../../src/channel/markdown.ts';

const PLAIN: Dialect = {
  limit: 4000,
  marksCount: true,
  escapes: {},
  lookalikes: { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' },
  strong: { open: '*', close: '*', tight: true, inLine: true },
  emphasis: { open: '_', close: '_', tight: true, inLine: true },
  delete: { open: '~', close: '~', tight: true, inLine: true },
  code: { open: '`', close: '`', tight: true, inLine: true },
  codeBlock: () => ({ open: '```\n', close: '\n```' }),
  quote: { prefix: '> ' },
  link: () => null,
  bullets: ['-'],
  tables: 'aligned',
};

const SIZE = 20_000;
const fill = (text: string) => text.repeat(Math.ceil(SIZE / text.length));

/** What a parser of Markdown is slow at, or deep. */
const HOSTILE: Record<string, string> = {
  'no space': 'a'.repeat(SIZE),
  'nested quotations': `${'>'.repeat(5000)} a`,
  'nested lists': `${'- '.repeat(5000)}a`,
  'nested numbered lists': `${'1. '.repeat(5000)}a`,
  'lists nested by indentation': Array.from({ length: 400 }, (_, index) => `${'  '.repeat(index)}- a`).join(
    '\n',
  ),
  'nested lists in every line': fill('> > > - - - - a\n'),
  'nested emphasis': `${'*a _b '.repeat(5000)}${'c_ d* '.repeat(5000)}`,
  'one run of signs': `${'*'.repeat(SIZE / 2)}a${'*'.repeat(SIZE / 2)}`,
  'ends without beginnings': `${fill('a**b')}${fill('c* ')}`,
  'open brackets': fill('[a'),
  'open links': fill('[a](b (c'),
  'nested images': `${'!['.repeat(15_000)}a${'](b)'.repeat(15_000)}`,
  'code spans of every length': Array.from({ length: 440 }, (_, index) => '`'.repeat(index + 1)).join(' '),
  'a giant table': `|a|b|\n|-|-|\n${fill('|c|d|\n')}`,
  'a wide table': `|${'a|'.repeat(9000)}\n|${'-|'.repeat(9000)}\n|${'b|'.repeat(9000)}`,
  'a quotation without its sign': `> > > > > > > > > a\n${fill('b\n')}`,
  'headings by underline': fill('a\n-\n'),
  'unclosed code': `\`\`\`\n${fill('a*b\n')}`,
  'only white space': fill(' \n\t'),
  'right to left': fill('שלום עולם '),
  'joined emoji': fill('👨‍👩‍👧‍👦'),
  'one character with many marks': `a${'\u0301'.repeat(SIZE)}`,
};

describe('hostile Markdown', () => {
  it.each(Object.entries(HOSTILE))(
    'of %s is rendered within bounds',
    (_title, text) => {
      const before = process.cpuUsage();
      const messages = renderMarkdown(text, PLAIN);
      const { user } = process.cpuUsage(before);
      // What grows with the square takes minutes at this size.
      expect(user / 1000).toBeLessThan(10_000);
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) {
        expect(message.length).toBeLessThanOrEqual(4000);
        expect(message.isWellFormed()).toBe(true);
      }
      // Prefixes and padding do not make much of little.
      expect(messages.join('').length).toBeLessThan(3 * text.length + 1000);
    },
    120_000,
  );

  it('shows a long address that is referred to often only so often', () => {
    const messages = renderMarkdown(`${'[a] '.repeat(10_000)}\n\n[a]: http://${'b'.repeat(1400)}`, PLAIN);
    expect(messages.join('').length).toBeLessThan(150_000);
  });
});

describe('tame', () => {
  it('leaves what people write as it is', () => {
    const text = '> - **a** [b](c) `d`\n>   1. e\n\n---\n\n* * *\n\n```\n>>>>>>>>>>>>>> a\n```\n\na\n===\n';
    expect(tame(text)).toBe(text);
  });

  it('hides what is beyond measure, and shows it again', () => {
    const text = `${'>'.repeat(20)} ${'**a** '.repeat(5000)}`;
    const tamed = tame(text);
    expect(tamed).toMatch(HIDDEN);
    expect(shown(tamed)).toBe(text);
    expect(JSON.stringify(parseMarkdown(text))).not.toMatch(HIDDEN);
  });

  it('takes no hidden sign from outside', () => {
    expect(renderMarkdown('\ufdd0a\ufdd0', PLAIN)).toEqual(['a']);
  });
});

describe('parts of a long text', () => {
  it('are cut before a paragraph, and lose nothing', () => {
    const paragraph = `${'word '.repeat(300).trim()}\n\n`;
    const parts = partsOf(paragraph.repeat(30));
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(16_500);
    for (const part of parts) expect(part.startsWith('word')).toBe(true);
    expect(parts.join('\n').match(/word/g)?.length).toBe(9000);
  });

  it('share the definitions of links', () => {
    const text = `${'[a][x] and more words\n\n'.repeat(1500)}[x]: https://x.example`;
    const linked = renderMarkdown(text, PLAIN)
      .join('\n')
      .match(/a \(https:\/\/x\.example\)/g);
    expect(linked?.length).toBe(1500);
  });

  it('keep code that is cut as code', () => {
    const code = Array.from({ length: 3000 }, (_, index) => `    line *${index}*;`);
    const messages = renderMarkdown(`\`\`\`ts\n${code.join('\n')}\n\`\`\`\n\nend`, PLAIN);
    const lines = messages.flatMap((message) => message.split('\n')).filter((line) => line.includes('line'));
    expect(lines).toEqual(code);
    for (const message of messages) expect(message.startsWith('```\n')).toBe(true);
  });
});

describe('a table as text', () => {
  it('is aligned by what people see', () => {
    expect(
      tableLines([
        ['a', '日本'],
        ['👨‍👩‍👧‍👦', 'b'],
        ['cde', ''],
      ]),
    ).toBe(['a   | 日本', '----+-----', '👨‍👩‍👧‍👦  | b', 'cde |'].join('\n'));
  });

  it('is not aligned where it would be wider than a screen', () => {
    expect(
      tableLines([
        ['a', 'b'],
        ['c'.repeat(120), 'd'],
      ]),
    ).toBe(`a | b\n---\n${'c'.repeat(120)} | d`);
  });
});
