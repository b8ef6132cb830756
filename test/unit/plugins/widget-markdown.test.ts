import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Piece, TAGS } from '../../../plugins/webchat/widget/markdown/inline.ts';
import { parseMarkdown, toPlainText } from '../../../plugins/webchat/widget/markdown/parse.ts';
import { effort } from '../../support/effort.ts';

/** The result as HTML, for the tests. The widget itself creates no HTML. */
function html(text: string): string {
  const write = (piece: Piece): string => {
    if (typeof piece === 'string') return piece.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    const { tag, children, href, start, done } = piece;
    const more = `${href === undefined ? '' : ` href="${href}"`}${start === undefined || start === 1 ? '' : ` start="${start}"`}${done === undefined ? '' : ` done="${done}"`}`;
    return ['br', 'hr'].includes(tag)
      ? `<${tag}>`
      : `<${tag}${more}>${children.map(write).join('')}</${tag}>`;
  };
  return parseMarkdown(text).map(write).join('');
}

function* piecesOf(pieces: readonly Piece[]): Generator<Piece> {
  for (const piece of pieces) {
    yield piece;
    if (typeof piece !== 'string') yield* piecesOf(piece.children);
  }
}

describe('Markdown in the widget', () => {
  it.each([
    ['plain words', '<p>plain words</p>'],
    ['one\ntwo\n\nthree', '<p>one<br>two</p><p>three</p>'],
    [
      '**bold** and *slanted*, ***both***',
      '<p><strong>bold</strong> and <em>slanted</em>, <strong><em>both</em></strong></p>',
    ],
    [
      '*a **b** c* __d__ _e_ ~~f~~',
      '<p><em>a <strong>b</strong> c</em> <strong>d</strong> <em>e</em> <del>f</del></p>',
    ],
    ['snake_case_name and 2 * 3 * 4', '<p>snake_case_name and 2 * 3 * 4</p>'],
    ['**half written', '<p>**half written</p>'],
    ['`code **x**` and ``a ` b``', '<p><code>code **x**</code> and <code>a ` b</code></p>'],
    ['# One\n## Two ##\n#### C#', '<h3>One</h3><h4>Two</h4><h4>C#</h4>'],
    [
      '- a\n- b\n  - c\n\n1. x\n2. y',
      '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>x</li><li>y</li></ol>',
    ],
    [
      '- [x] a\n- [ ] **b**\n- [ ]c',
      '<ul><li done="true">a</li><li done="false"><strong>b</strong></li><li>[ ]c</li></ul>',
    ],
    ['7. seven\n8. eight', '<ol start="7"><li>seven</li><li>eight</li></ol>'],
    ['1. \n   - **Name**: Ada', '<ol><li><ul><li><strong>Name</strong>: Ada</li></ul></li></ol>'],
    ['> quoted\n> > twice', '<blockquote><p>quoted</p><blockquote><p>twice</p></blockquote></blockquote>'],
    ['```js\na < b\n```\nafter', '<pre><code>a &lt; b</code></pre><p>after</p>'],
    ['```\nhalf written', '<pre><code>half written</code></pre>'],
    [
      '| a | b |\n|---|:-:|\n| 1 | 2\\|3 |',
      '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2|3</td></tr></tbody></table>',
    ],
    ['a\n\n---\n\nb', '<p>a</p><hr><p>b</p>'],
    ['\\*not slanted\\* and \\<', '<p>*not slanted* and &lt;</p>'],
    ['<b>text</b> &amp;', '<p>&lt;b>text&lt;/b> &amp;amp;</p>'],
  ])('is converted as expected: %j', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it.each([
    ['[words](https://example.com/a_(b))', '<p><a href="https://example.com/a_(b)">words</a></p>'],
    [
      '[**bold**](https://example.com "title")',
      '<p><a href="https://example.com/"><strong>bold</strong></a></p>',
    ],
    [
      'See https://example.com/a?b=1.',
      '<p>See <a href="https://example.com/a?b=1">https://example.com/a?b=1</a>.</p>',
    ],
    ['(https://example.com/x)', '<p>(<a href="https://example.com/x">https://example.com/x</a>)</p>'],
    ['<mailto:ada@example.com>', '<p><a href="mailto:ada@example.com">ada@example.com</a></p>'],
    ['[a](mailto:ada@example.com)', '<p><a href="mailto:ada@example.com">a</a></p>'],
    ['![alt](https://example.com/p.png)', '<p><a href="https://example.com/p.png">alt</a></p>'],
    [
      '[https://good.example](https://evil.example)',
      '<p><a href="https://evil.example/">https://good.example</a></p>',
    ],
  ])('makes %s a link', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](java\u0000script:alert(1))',
    '[x](java\tscript:alert(1))',
    '[x](\u0001javascript:alert(1))',
    '[x](data:text/html,x)',
    '[x](vbscript:x)',
    '[x](file:///etc/passwd)',
    '[x](blob:x)',
    '[x](/relative)',
    '[x](//example.com)',
    '<javascript:alert(1)>',
    '[x](&#106;avascript:alert(1))',
  ])('does not make %j a link', (text) => {
    expect(html(text)).not.toContain('<a ');
  });

  it('removes characters that reorder or hide text, and keeps the characters that right-to-left text needs', () => {
    const words = toPlainText(parseMarkdown('a\u202eb\u202ac\u0007d\ufeffe \u200f\u2067f\u2069'));
    expect(words).toBe('abcde \u200f\u2067f\u2069\n');
  });

  it('produces only allowed elements and addresses for any input', () => {
    const markup = fc.constantFrom(
      ...[
        '**',
        '__',
        '*',
        '_',
        '~~',
        '`',
        '```',
        '[',
        '](',
        ')',
        '![',
        '<',
        '>',
        '</',
        '\n',
        '\n\n',
        '- ',
        '1. ',
        '> ',
        '# ',
        '|',
        '|---|',
        '  ',
      ],
      ...[
        'javascript:',
        'https://e.com',
        'data:',
        'script',
        ' onerror=',
        '\\',
        'x',
        ' ',
        '&lt;',
        '\u202e',
        '🎉',
        'ש',
      ],
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.array(markup, { maxLength: 80 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        for (const piece of piecesOf(parseMarkdown(text))) {
          if (typeof piece === 'string') continue;
          expect(TAGS).toContain(piece.tag);
          expect(
            Object.keys(piece).filter((name) => !['tag', 'children', 'href', 'start'].includes(name)),
          ).toEqual([]);
          if (piece.tag === 'a') expect(new URL(piece.href ?? '').protocol).toMatch(/^(https?|mailto):$/);
          else expect(piece.href).toBeUndefined();
        }
      }),
      { numRuns: effort(1000, 3000) },
    );
  });

  it.each([
    '**a ',
    '*a ',
    '__a ',
    '_a ',
    '~~a ',
    '`a ',
    '``a`b ',
    '[a](',
    '![',
    '<https://',
    '> ',
    '- ',
    '|',
  ])('needs little time for a long text of %j', (piece) => {
    const text = piece.repeat(100_000 / piece.length);
    const began = process.cpuUsage();
    parseMarkdown(text);
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(1_000);
  });

  it('never puts a link inside a link', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            '[',
            ']',
            '](https://a.example)',
            'https://b.example',
            '<https://c.example>',
            ' x ',
          ),
          { maxLength: 30 },
        ),
        (parts) => {
          const links = [...piecesOf(parseMarkdown(parts.join('')))].filter(
            (piece) => typeof piece !== 'string' && piece.tag === 'a',
          );
          for (const link of links) {
            const inner = typeof link === 'string' ? [] : [...piecesOf(link.children)];
            expect(inner.some((piece) => typeof piece !== 'string' && piece.tag === 'a')).toBe(false);
          }
        },
      ),
    );
  });

  it('loses no word of plain text', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 40 }),
        fc.constantFrom(' ', '\n', '\n\n'),
        (words, gap) => {
          expect(
            toPlainText(parseMarkdown(words.join(gap)))
              .split(/\s+/)
              .filter(Boolean),
          ).toEqual(words);
        },
      ),
    );
  });

  it.each([
    ['*', '*'],
    ['_', '_'],
    ['**', '**'],
    ['[', '['],
    ['[a](', '[a]('],
    ['![', '!['],
    ['`', '`'],
    ['` ``', '` `` '],
    ['> ', '> '],
    ['- ', '- '],
    ['-', '-'],
    ['#', '#'],
    ['# ', '# '],
    ['|', '|'],
    ['|\n', '|\n'],
    ['|-|\n', '|-|\n'],
    ['<', '<'],
    ['http://', 'http://'],
    ['(((', 'https://a.b/((('],
    ['\\', '\\'],
    ['blanks', ' '],
    ['lines', '\n'],
    ['marks', '*a **b _c __d ~~e `f '],
    ['nested lists', '- a\n  - b\n    - c\n'],
    ['1. ', '1. a\n'],
    ['fences', '```\n~~~\n'],
    ['closed', '**a** _b_ `c` '],
  ])('is quickly converted from 200,000 characters of %s', (_name, unit) => {
    const text = unit.repeat(Math.ceil(200_000 / unit.length)).slice(0, 200_000);
    const before = process.cpuUsage();
    parseMarkdown(text);
    const { user } = process.cpuUsage(before);
    // Quadratic time would take minutes at this size.
    expect(user / 1000).toBeLessThan(3000);
  });
});
