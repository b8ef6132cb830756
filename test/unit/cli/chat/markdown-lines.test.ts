import { describe, expect, it } from 'vitest';
import { markdownLines } from '../../../../src/cli/chat/markdown-lines.ts';
import { PAINTED } from '../../../../src/cli/styled-text.ts';

const plain = (markdown: string, width = 40) =>
  markdownLines(markdown, { width, color: false, links: false }).join('\n');
const rich = (markdown: string, width = 40) =>
  markdownLines(markdown, { width, color: true, links: true }).join('\n');

describe('Markdown on a terminal', () => {
  it('wraps at words, and keeps line breaks', () => {
    expect(plain('one two three four five\nsix', 14)).toBe('one two three\nfour five\nsix');
    expect(plain('see https://example.com/a/long/address now', 12)).toBe(
      'see\nhttps://example.com/a/long/address\nnow',
    );
    expect(plain('日本語の長い文章です', 8)).toBe('日本語の\n長い文章\nです');
  });

  it('shows bold, italic, strikethrough and code', () => {
    expect(rich('**a** *b* ~~c~~ `d`')).toBe(
      '\u{1b}[1ma\u{1b}[22m \u{1b}[3mb\u{1b}[23m \u{1b}[9mc\u{1b}[29m \u{1b}[36md\u{1b}[39m',
    );
    expect(plain('**a** *b* ~~c~~ `d`')).toBe('a b c `d`');
  });

  it('shows lists, indented below their signs', () => {
    expect(plain('8. one two three four five\n9. two\n   - a\n   - [x] b\n10. three', 24)).toBe(
      [' 8. one two three four', '    five', ' 9. two', '    • a', '    • ☑ b', '10. three'].join('\n'),
    );
    expect(plain('- a\n\n- b')).toBe('• a\n\n• b');
  });

  it('shows quotations, headings, code and rules', () => {
    expect(plain('# A\n> one two three four five six\n>\n> four\n\n```\nx  y\n\tz\n```\n---', 24)).toBe(
      [
        'A',
        '',
        '│ one two three four',
        '│ five six',
        '│',
        '│ four',
        '',
        '  x  y',
        '      z',
        '',
        '─'.repeat(24),
      ].join('\n'),
    );
  });

  it('aligns tables, wraps their cells, and shows rows one by one if the terminal is too narrow', () => {
    const table = '| Item | Price |\n|-|-|\n| Analytical engine | £17,470 |\n| Cards | £2 |';
    expect(plain(table)).toBe(
      [
        'Item               Price',
        '─────────────────  ───────',
        'Analytical engine  £17,470',
        'Cards              £2',
      ].join('\n'),
    );
    expect(plain(table, 20)).toBe(
      [
        'Item         Price',
        '───────────  ───────',
        'Analytical   £17,470',
        'engine',
        'Cards        £2',
      ].join('\n'),
    );
    expect(plain(table, 14)).toBe(
      ['Item:', 'Analytical', 'engine', 'Price: £17,470', '', 'Item: Cards', 'Price: £2'].join('\n'),
    );
  });

  it('makes links that can be clicked, or writes the address after the label', () => {
    expect(rich('[docs](https://example.com/ä)')).toBe(
      '\u{1b}]8;;https://example.com/%C3%A4\u{1b}\\docs\u{1b}]8;;\u{1b}\\',
    );
    expect(plain('[docs](https://example.com)')).toBe('docs (https://example.com)');
    expect(plain('<https://example.com> a@b.de')).toBe('https://example.com a@b.de');
  });

  it('shows where a link leads if there is another address in its label', () => {
    const bare = ['https://bank.example', 'bank.example/login', 'bank.example', 'ada@bank.example'];
    const hidden = ['\u{200b}bank.example', 'bank.\u{200b}example', 'bank。example', 'bänk.example'];
    for (const label of [
      ...bare,
      ...hidden,
      '(https://bank.example)',
      '→ bank.example',
      'Go to bank.example now',
    ])
      expect(rich(`[${label}](https://evil.example)`, 80).replace(PAINTED, '')).toBe(
        `${label.replace('\u{200b}', '\u{fffd}')} (https://evil.example)`,
      );
  });

  it('makes no link of an address that a browser would run', () => {
    expect(rich('[a](javascript:alert(1))')).toBe('a (javascript:alert(1))');
  });
});

describe('a hostile text', () => {
  const controls = [
    '\u{1b}[2J',
    '\u{1b}]0;title\u{7}',
    '\u{9b}31m',
    '\u{202e}',
    '\r',
    '\u{8}',
    '&#x1b;[31m',
    '&#x202e;',
    '&#155;',
  ];
  const places = [
    'X',
    '**X**',
    '`X`',
    '# X',
    '- X',
    '> X',
    '```X\nX\n```',
    '| X |\n|-|\n| X |',
    '[X](https://a.b/X)',
    '![X](X)',
    '<https://a.b/X>',
    '[a]\n\n[a]: https://a.b/X',
    'a[^X]\n\n[^X]: X',
  ];

  it('cannot control the terminal, wherever its control characters are', () => {
    for (const control of controls)
      for (const place of places)
        for (const show of [plain, rich]) {
          const shown = show(place.replaceAll('X', `x${control}y`)).replace(PAINTED, '');
          expect(shown, `${JSON.stringify(control)} in ${place}`).not.toMatch(
            /[^\P{Cc}\n]|\p{Bidi_Control}/u,
          );
        }
  });
});
