import { describe, expect, it } from 'vitest';
import { tableLines } from '../../../src/channel/markdown/layout.ts';
import { HIDDEN, limitNesting, restoreSigns, splitSource } from '../../../src/channel/markdown/source.ts';
import { type Dialect, renderMarkdown } from '../../../src/channel/markdown.ts';
import { effort } from '../../support/effort.ts';
import { hostileMarkdown } from '../../support/hostile-markdown.ts';

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

const SIZE = effort(10_000, 20_000);

describe('Markdown that slows parsers down', () => {
  it.each(Object.entries(hostileMarkdown(SIZE)))(
    'is rendered as messages within the length limit: %s',
    (_title, text) => {
      const messages = renderMarkdown(text, PLAIN);
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) {
        expect(message.length).toBeLessThanOrEqual(4000);
        expect(message.isWellFormed()).toBe(true);
      }
      // Prefixes and padding do not make a short text long.
      expect(messages.join('').length).toBeLessThan(3 * text.length + 1000);
    },
  );

  it.each([
    ['quotations in one line', `${'>'.repeat(500)} word`],
    ['lists in one line', `${'- '.repeat(500)}word`],
    ['numbered lists in one line', `${'1) '.repeat(500)}word`],
    [
      'lists nested by indentation',
      `${Array.from({ length: 200 }, (_, index) => `${'  '.repeat(index)}- a`).join('\n')}\n${'  '.repeat(200)}- word`,
    ],
    [
      'quotations and lists across many lines',
      `${'> - '.repeat(5)}a\n`.repeat(50).concat('> - '.repeat(300), 'word'),
    ],
    ['brackets', `${'['.repeat(5000)}word`],
    ['images', `${'!['.repeat(5000)}word${'](a)'.repeat(5000)}`],
    ['emphasis', `${'*a _b '.repeat(2000)}word${' c_ d*'.repeat(2000)}`],
  ])('is rendered with its words, however deeply they are nested: %s', (_title, text) => {
    expect(renderMarkdown(text, PLAIN).join('')).toContain('word');
  });

  it('repeats a long address only a limited number of times, however often the text refers to it', () => {
    const messages = renderMarkdown(`${'[a] '.repeat(10_000)}\n\n[a]: http://${'b'.repeat(1400)}`, PLAIN);
    expect(messages.join('').length).toBeLessThan(150_000);
  });
});

describe('limitNesting', () => {
  it('does not change ordinary texts', () => {
    const text = '> - **a** [b](c) `d`\n>   1. e\n\n---\n\n* * *\n\n```\n>>>>>>>>>>>>>> a\n```\n\na\n===\n';
    expect(limitNesting(text)).toBe(text);
  });

  it('hides excess open brackets, and the signs of containers that are nested too deeply', () => {
    const brackets = limitNesting('['.repeat(100));
    expect(brackets.match(HIDDEN)).toHaveLength(80);
    expect(restoreSigns(brackets)).toBe('['.repeat(100));
    const quotations = limitNesting(`${'>'.repeat(20)} a`);
    expect(quotations).toMatch(/^>{5}[^>]/);
    expect(restoreSigns(quotations)).toBe(`${'>'.repeat(20)} a`);
    const indented = limitNesting(`${' '.repeat(60)}- a`);
    expect(indented).toMatch(HIDDEN);
  });

  it('does not change brackets that are closed, however many there are', () => {
    const text = '[a](b) [c][d] '.repeat(1000);
    expect(limitNesting(text)).toBe(text);
  });

  it('hides characters only from the parser: they are visible in the result', () => {
    const text = `${'>'.repeat(20)} ${'[ a '.repeat(100)}\n\n- ~~~\n  ${'['.repeat(100)}`;
    expect(limitNesting(text)).toMatch(HIDDEN);
    expect(renderMarkdown(text, PLAIN).join('')).not.toMatch(HIDDEN);
  });

  it('removes its own placeholder characters from a text', () => {
    expect(renderMarkdown('\ufdd0a\ufdd0', PLAIN)).toEqual(['a']);
  });
});

describe('the parts of a long text', () => {
  it('begin at paragraphs, and together contain the whole text', () => {
    const paragraph = `${'word '.repeat(300).trim()}\n\n`;
    const parts = splitSource(paragraph.repeat(30));
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(16_000);
    for (const part of parts) expect(part.startsWith('word')).toBe(true);
    expect(parts.join('\n').match(/word/g)?.length).toBe(9000);
  });

  it.each([
    ['before', (text: string, definition: string) => `${definition}\n\n${text}`],
    ['after', (text: string, definition: string) => `${text}${definition}`],
  ])('share the definitions of links and footnotes that are %s the text', (_title, join) => {
    const text = join('[a][x] and more words[^n]\n\n'.repeat(1500), '[x]: https://x.example\n\n[^n]: note');
    const shown = renderMarkdown(text, PLAIN).join('\n');
    expect(shown.match(/a \(https:\/\/x\.example\) and more words\[n\]/g)?.length).toBe(1500);
  });

  it('show each part of a split code block as code', () => {
    const code = Array.from({ length: 3000 }, (_, index) => `    line *${index}*;`);
    const messages = renderMarkdown(`\`\`\`ts\n${code.join('\n')}\n\`\`\`\n\nend`, PLAIN);
    const lines = messages.flatMap((message) => message.split('\n')).filter((line) => line.includes('line'));
    expect(lines).toEqual(code);
    for (const message of messages) expect(message.startsWith('```\n')).toBe(true);
  });
});

describe('a table as text', () => {
  it('is aligned by visible width', () => {
    expect(
      tableLines([
        ['a', '日本'],
        ['👨‍👩‍👧‍👦', 'b'],
        ['cde', ''],
      ]),
    ).toBe(['a   | 日本', '----+-----', '👨‍👩‍👧‍👦  | b', 'cde |'].join('\n'));
  });

  it('is not aligned if it would be wider than a screen', () => {
    expect(
      tableLines([
        ['a', 'b'],
        ['c'.repeat(120), 'd'],
      ]),
    ).toBe(`a | b\n---\n${'c'.repeat(120)} | d`);
  });
});
