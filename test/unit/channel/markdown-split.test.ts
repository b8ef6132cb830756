import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Dialect, renderMarkdown } from '../../../src/channel/markdown.ts';
import { effort } from '../../support/effort.ts';

/** A format with opening and closing tags, and with escapes. */
const TAGS: Dialect = {
  limit: 60,
  marksCount: false,
  escapes: { '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  lookalikes: {},
  strong: { open: '<b>', close: '</b>' },
  emphasis: { open: '<i>', close: '</i>' },
  delete: { open: '<s>', close: '</s>' },
  code: { open: '<code>', close: '</code>' },
  codeBlock: () => ({ open: '<pre>', close: '</pre>' }),
  quote: { open: '<q>', close: '</q>' },
  link: () => ({ open: '<a>', close: '</a>' }),
  bullets: ['•'],
  tables: 'aligned',
};

/** A format with markup characters between words and with line prefixes, but without escapes. */
const SIGNS: Dialect = {
  ...TAGS,
  marksCount: true,
  lookalikes: { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' },
  lineStart: /^>/,
  strong: { open: '*', close: '*', tight: true, inLine: true },
  emphasis: { open: '_', close: '_', tight: true, inLine: true },
  delete: { open: '~', close: '~', tight: true, inLine: true },
  code: { open: '`', close: '`', tight: true, inLine: true },
  codeBlock: () => ({ open: '```\n', close: '\n```' }),
  quote: { prefix: '> ' },
  link: (url) => ({ open: `<${url}|`, close: '>', inLine: true, plain: true }),
};

const WHOLE = 1_000_000;

/** The visible text of messages with tags. Throws if a tag or an escape is broken. */
function seenIn(message: string): string {
  const open: string[] = [];
  const text = message.replace(/<(\/?)([a-z]+)>|<|>/g, (found, slash: string, name: string) => {
    if (name === undefined) throw new Error(`a broken tag: ${found}`);
    if (slash === '') open.push(name);
    else expect(open.pop()).toBe(name);
    return '';
  });
  expect(open).toEqual([]);
  return text.replace(/&(amp|lt|gt);|&/g, (found, name: string) => {
    if (name === undefined) throw new Error(`a broken escape: ${found}`);
    return name === 'amp' ? '&' : name === 'lt' ? '<' : '>';
  });
}

/** The text without the characters that a cut may add or remove. */
function solid(text: string): string {
  return text.replace(/[\s\u200b\u2060]/g, '');
}

const FAMILY = '👨‍👩‍👧‍👦';

/** Markdown with all of its elements, in any order. The words are w0w, w1w, …, so that a digit after one is not of it. */
const markdown = fc
  .array(
    fc.constantFrom(
      ...[
        '§ ',
        '§. ',
        '§',
        'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
        '\n',
        '\n\n',
        '    ',
        '| § | § |\n|---|---|\n',
      ],
      ...['**', '*', '_', '~~', '`', '```\n', '> ', '- ', '1. ', '# ', '- [ ] ', '---\n', '\\*', '[^1]', '|'],
      ...['[', '](http://x.y/z)', '![', '](javascript:x)', '[a]: http://q\n\n', '[a]', 'https://x.y/z '],
      ...[
        '<b>',
        '<!channel>',
        '<@U1>',
        '@here ',
        '&amp;',
        '<',
        '>',
        '&',
        FAMILY,
        'e\u0301',
        'שלום ',
        '日本語。',
        '\ud800',
      ],
    ),
    { maxLength: 60 },
  )
  .map((parts) => {
    let count = 0;
    return parts.join('').replaceAll('§', () => `w${count++}w`);
  });

describe('the division of a reply into messages', () => {
  it('keeps every message within the limit and complete, and loses nothing', () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 40, max: 200 }), (text, limit) => {
        const messages = renderMarkdown(text, { ...TAGS, limit }).map(seenIn);
        const [whole = ''] = renderMarkdown(text, { ...TAGS, limit: WHOLE }).map(seenIn);
        expect(solid(messages.join(''))).toBe(solid(whole));
        for (const message of messages) {
          expect(message.length).toBeLessThanOrEqual(limit);
          expect(message.length).toBeGreaterThan(0);
          expect(message.isWellFormed()).toBe(true);
        }
        const families = (texts: readonly string[]) => texts.join('\n').split(FAMILY).length;
        expect(families(messages)).toBe(families([whole]));
        expect(messages.length).toBeGreaterThan(0);
      }),
      { numRuns: effort(200, 400) },
    );
  });

  it('never cuts a character in two, even at the limit', () => {
    for (let limit = 40; limit <= 70; limit++) {
      const messages = renderMarkdown(`${'a'.repeat(46)}${FAMILY}`, { ...TAGS, limit });
      expect(messages.join('\n'), `limit ${limit}`).toContain(FAMILY);
    }
  });

  it('shows every word once, in order', () => {
    fc.assert(
      fc.property(markdown, (text) => {
        // The word after a fence names its language, and is not text.
        fc.pre(!/~~~|```[^\n]/.test(text));
        const words = (shown: string) => shown.match(/w\d+w/g) ?? [];
        const shown = renderMarkdown(text, { ...TAGS, limit: WHOLE }).join('\n');
        expect(words(shown)).toEqual(words(text));
      }),
      { numRuns: effort(200, 400), examples: [['w0w![1. ](javascript:x)']] },
    );
  });

  it('shows every word, even among markup characters, prefixes and lookalikes', () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 60, max: 200 }), (text, limit) => {
        const messages = renderMarkdown(text, { ...SIGNS, limit });
        const letters = (texts: readonly string[]) =>
          solid(
            texts
              .join('\n')
              .replace(/^> ?/gm, '')
              .replace(/<[^|>]*\||>/g, '')
              .replace(/[*_~`]/g, ''),
          );
        expect(letters(messages)).toBe(letters(renderMarkdown(text, { ...SIGNS, limit: WHOLE })));
        for (const message of messages) {
          expect(message.length).toBeLessThanOrEqual(limit);
          expect(message.isWellFormed()).toBe(true);
          expect(message.match(/```/g)?.length ?? 0).toSatisfy((count: number) => count % 2 === 0);
          expect(message).not.toMatch(/<(?!https?:)/);
        }
      }),
      { numRuns: effort(200, 400) },
    );
  });

  it('never throws, and turns every text into complete messages', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: fc.constantFrom(...'*_[]()`~!<>#|-+=.:&@\\/ \n\taB1"\''), maxLength: 300 }),
    );
    fc.assert(
      fc.property(anything, fc.integer({ min: 40, max: 200 }), (text, limit) => {
        const messages = renderMarkdown(text, { ...TAGS, limit }).map(seenIn);
        expect(messages.length).toBeGreaterThan(0);
        for (const message of messages) {
          expect(message.length).toBeLessThanOrEqual(limit);
          expect(message.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: effort(200, 400) },
    );
  });

  it('shows the words between markup characters of any kind', () => {
    // Titles, definitions and languages of fences are left out, because they are not shown.
    const signs = fc.string({ unit: fc.constantFrom(...'*_[]()!<>#|-+=.@/ \n\t'), maxLength: 6 });
    fc.assert(
      fc.property(fc.array(signs, { maxLength: 40 }), (gaps) => {
        const text = gaps.map((gap, index) => `${gap}w${index}x`).join('');
        const words = (shown: string) => shown.match(/w\d+x/g) ?? [];
        expect(words(renderMarkdown(text, { ...SIGNS, limit: WHOLE, link: () => null }).join('\n'))).toEqual(
          words(text),
        );
      }),
      { numRuns: effort(200, 400) },
    );
  });

  const split = (text: string, limit: number) => renderMarkdown(text, { ...TAGS, limit });

  it.each([
    ['first at paragraph ends', 'one two. three\n\nfour five six', 20, ['one two. three', 'four five six']],
    ['otherwise at line ends', 'one. two\nthree. four five', 18, ['one. two', 'three. four five']],
    ['otherwise at sentence ends', 'one two. three four five', 18, ['one two.', 'three four five']],
    ['otherwise between words', 'one two three four', 12, ['one two', 'three four']],
    ['within a word that is longer than a message', 'abcdefghijkl mn', 5, ['abcde', 'fghij', 'kl mn']],
    [
      'between sentences of scripts without spaces',
      '日本語。日本語。日本語。',
      9,
      ['日本語。日本語。', '日本語。'],
    ],
    ['not within what people see as one character', FAMILY.repeat(3), 24, [FAMILY.repeat(2), FAMILY]],
    ['not after a heading', 'aaaa bbbb\n\n# H\n\ncccc dddd', 20, ['aaaa bbbb', '<b>H</b>\n\ncccc dddd']],
    [
      'so that markup is closed and opened again',
      '**one two *three* four**',
      14,
      ['<b>one two <i>three</i></b>', '<b>four</b>'],
    ],
    [
      'so that a code block is complete in both messages',
      '```\none\n    two\n```',
      8,
      ['<pre>one</pre>', '<pre>    two</pre>'],
    ],
    [
      'so that a quotation is complete in both messages',
      '> one two three',
      8,
      ['<q>one two</q>', '<q>three</q>'],
    ],
  ])('cuts %s', (_title, text, limit, messages) => {
    expect(split(text, limit)).toEqual(messages);
  });

  it('cuts one very long line at sentence ends, too', () => {
    const sentences = Array.from({ length: 1000 }, (_, n) => `This is sentence ${n}, and no other.`);
    const messages = split(sentences.join(' '), 4000);
    for (const message of messages) expect(message).toMatch(/^This is .* no other\.$/s);
    expect(messages.join(' ').split(/\s+(?=This)/)).toEqual(sentences);
  });

  it('never separates an accent from its letter, even within a word', () => {
    expect(split('e\u0301'.repeat(50), 41)).toEqual(
      [40, 40, 20].map((length) => 'e\u0301'.repeat(length / 2)),
    );
  });

  it('cuts a visible character only if its combining marks exceed one message', () => {
    const messages = split(`a${'\u0301'.repeat(100)}`, 40);
    expect(messages.join('')).toBe(`a${'\u0301'.repeat(100)}`);
    expect(messages.map((message) => message.length)).toEqual([40, 40, 21]);
  });

  it('omits markup that would fill a whole message', () => {
    const dialect = { ...SIGNS, strong: { open: '['.repeat(30), close: ']'.repeat(30) } };
    expect(renderMarkdown('**word**', { ...dialect, limit: 20 })).toEqual(['word']);
  });

  it('starts a new message when a message has as much markup as the platform reads', () => {
    const text = Array.from({ length: 7 }, (_, index) => `**b${index}** x`).join(' ');
    const messages = renderMarkdown(text, { ...TAGS, limit: 1000, markLimit: 3 });
    expect(messages.map((message) => message.match(/<b>/g)?.length)).toEqual([3, 3, 1]);
    const long = renderMarkdown('[a](http://x.y) '.repeat(9), { ...TAGS, limit: 1000, markupLimit: 30 });
    expect(long.map((message) => message.match(/<a>/g)?.length)).toEqual([4, 4, 1]);
    for (const message of long) expect(message.match(/<[^>]*>/g)?.join('').length).toBeLessThanOrEqual(30);
  });

  it.each(['', ' \n\t', '\u200b\u2060', '\u0000'])(
    'shows an ellipsis for %j, which has no visible text',
    (text) => {
      expect(split(text, 60)).toEqual(['…']);
    },
  );

  it('shows a text unchanged if its Markdown has no visible result', () => {
    expect(split('[a]: http://x.example', 60)).toEqual(['[a]: http://x.example']);
  });
});
