import fc from 'fast-check';
import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { expect, it } from 'vitest';
import { hasGfmSigns } from '../../../src/channel/markdown/gfm-signs.ts';

const HTML_IS_TEXT = { disable: { null: ['htmlFlow', 'htmlText'] } };

function without(text: string): unknown {
  return shape(fromMarkdown(text, { extensions: [HTML_IS_TEXT] }));
}

function withAll(text: string): unknown {
  return shape(
    fromMarkdown(text, { extensions: [gfm(), HTML_IS_TEXT], mdastExtensions: [gfmFromMarkdown()] }),
  );
}

/** The tree without places. */
function shape(node: Nodes): unknown {
  const { position: _, ...rest } = node;
  return 'children' in rest ? { ...rest, children: rest.children.map(shape) } : rest;
}

const PIECES = [
  ...[
    'a',
    'B c',
    '1',
    ' ',
    '\n',
    '\n\n',
    '    ',
    '  \n',
    '\\',
    '*',
    '**',
    '_',
    '`',
    '```\n',
    '[',
    ']',
    '(',
    ')',
  ],
  ...[
    '!',
    '<',
    '>',
    '#',
    '# ',
    '- ',
    '1. ',
    '+ ',
    '> ',
    ':',
    '-',
    '---',
    '=',
    '.',
    '/',
    '"',
    'x',
    '[x] ',
    '[ ] ',
  ],
  ...[
    '[a](https://x.example)',
    '[a](b)',
    '![a](https://x.example/i)',
    'https:',
    '//x.example',
    'www',
    'xmpp:',
  ],
  ...[
    'mailto:',
    'https://x.example',
    'a@x.example',
    'www.x.example',
    '|',
    '|-|',
    '\n:-',
    '\n-:',
    '~',
    '~~',
    '[^1]',
    '[^1]: ',
    '&#64;',
  ],
  ...['&commat;', '&amp;', '[r]: https://x.example "t"', '[r]', '\t', 'é', '😀'],
];

it('says that there are none only where the text reads the same without the extensions', () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }), (pieces) => {
      const text = pieces.join('');
      if (hasGfmSigns(text)) return;
      plain++;
      expect(without(text)).toEqual(withAll(text));
    }),
    { numRuns: 5000 },
  );
  expect(plain).toBeGreaterThan(500);
});

it.each([
  'Your order A-1001 has **shipped** (on Monday).\n\n- one\n- two\n\n```ts\nconst a = [1];\n```',
  'See [the page](https://x.example/a?b=c#d), or [another](https://y.example).',
])('finds none in ordinary text: %j', (text) => {
  expect(hasGfmSigns(text)).toBe(false);
});

it.each([
  'https://x.example',
  'HTTP://x.example',
  'Www.x.example',
  'www\\.x.example',
  'https\\:\\/\\/x.example',
  'a@x.example',
  'a&#64;x.example',
  '~a~',
  'a|b\n-|-',
  'a\n:-',
  'a\n-:',
  '- [x] a',
  '- [ ] a',
  '- [\t] a',
  'a[^1]\n\n[^1]: b',
  '\\[a](https://x.example)',
  '[a\\](https://x.example)',
  '[a [b](c) d](https://x.example)',
  '`[a`](https://x.example)',
  'a](https://x.example)',
  '[](https://x.example)',
])('finds one in %j', (text) => {
  expect(hasGfmSigns(text)).toBe(true);
});
