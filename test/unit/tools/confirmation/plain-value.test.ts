import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownValue, visible } from '../../../../src/daemon/tools/confirmation/plain-value.ts';
import { cpuTime } from '../../../support/cpu-time.ts';
import { effort } from '../../../support/effort.ts';

describe('a value in a question', () => {
  it.each([
    ['plain', '"plain"'],
    ['two\nlines\r\n\tmore', String.raw`"two\nlines\r\n\tmore"`],
    ['", approved: "yes', String.raw`"\", approved: \"yes"`],
    ['back\\slash', String.raw`"back\\slash"`],
    ['', '""'],
  ])('is quoted on one line: %j', (value, shown) => {
    expect(shownValue(value)).toBe(shown);
  });

  it.each([
    ['5', '"5"'],
    [5, '5'],
    [-0.5, '-0.5'],
    [true, 'true'],
    ['true', '"true"'],
    [null, 'null'],
    [[], '[]'],
    ['[]', '"[]"'],
    [{ a: 'x\u200b"' }, String.raw`{"a":"x\u200b\""}`],
    ['{"a":"x"}', String.raw`"{\"a\":\"x\"}"`],
  ])('shows its type, because only texts are in quotes: %j', (value, shown) => {
    expect(shownValue(value)).toBe(shown);
  });

  it.each([
    ['a control character', '\u0007', String.raw`\u0007`],
    ['a line separator', '\u2028', String.raw`\u2028`],
    ['a bidirectional override', '\u202e', String.raw`\u202e`],
    ['a bidirectional isolate', '\u2066', String.raw`\u2066`],
    ['a right-to-left mark', '\u200f', String.raw`\u200f`],
    ['a zero-width space', '\u200b', String.raw`\u200b`],
    ['a zero-width joiner', '\u200d', String.raw`\u200d`],
    ['a byte order mark', '\ufeff', String.raw`\ufeff`],
    ['a soft hyphen', '\u00ad', String.raw`\u00ad`],
    ['a variation selector', '\ufe0f', String.raw`\ufe0f`],
    ['a Hangul filler', '\u3164', String.raw`\u3164`],
    ['a tag character', '\u{e0041}', String.raw`\u{e0041}`],
    ['a no-break space', '\u00a0', String.raw`\u00a0`],
    ['half of a surrogate pair', '\ud83d', String.raw`\ud83d`],
    ['a noncharacter', '\ufdd0', String.raw`\ufdd0`],
    ['a private-use character', '\ue000', String.raw`\ue000`],
    ['a half-width Hangul filler', '\uffa0', String.raw`\uffa0`],
    ['a Hangul filler of a first consonant', '\u115f', String.raw`\u115f`],
    ['a Hangul filler of a vowel', '\u1160', String.raw`\u1160`],
    ['an empty braille pattern', '\u2800', String.raw`\u2800`],
    ['an object replacement character', '\ufffc', String.raw`\ufffc`],
    ['a musical null notehead', '\u{1d159}', String.raw`\u{1d159}`],
    ['a blank hieroglyph', '\u{13441}', String.raw`\u{13441}`],
    ['a Khitan filler', '\u{16fe4}', String.raw`\u{16fe4}`],
    ['an invisible joiner of Tifinagh', '\u2d7f', String.raw`\u2d7f`],
    ['an ideographic space', '\u3000', String.raw`\u3000`],
    ['an Arabic letter mark', '\u061c', String.raw`\u061c`],
    ['an interlinear annotation', '\ufff9', String.raw`\ufff9`],
    ['a Mongolian vowel separator', '\u180e', String.raw`\u180e`],
    ['a Khmer stacker that stacks nothing', '\u17d2 ', String.raw`\u17d2 `],
    ['a mark on a space', ' \u0338', String.raw` \u0338`],
  ])('shows %s as an escape', (_, character, shown) => {
    expect(shownValue(`a${character}b`)).toBe(`"a${shown}b"`);
  });

  it('shows as an escape a mark that would change the quotes or the line above', () => {
    expect(shownValue('\u0338x')).toBe(String.raw`"\u0338x"`);
    expect(shownValue(`a${'\u0301'.repeat(6)}`)).toBe(
      String.raw`"a\u0301\u0301"`.replace('a', `a${'\u0301'.repeat(4)}`),
    );
  });

  it('shows as escapes the spaces that a reader would not see', () => {
    expect(shownValue('a   b')).toBe(String.raw`"a \u0020\u0020b"`);
  });

  it.each([
    ['аpple.com', 'xn--pple-43d.com'],
    ['https://аpple.com/pay?x=1', 'https://xn--pple-43d.com/pay?x=1'],
    ['https://user@аpple/', 'https://user@xn--pple-43d/'],
    ['max@müller.de', 'max@xn--mller-kva.de'],
    ['bücher。com', 'xn--bcher-kva.com'],
    ['bücher．example', 'xn--bcher-kva.example'],
    ['ａｐｐｌｅ.com', 'apple.com'],
  ])('shows the host name in %s in ASCII form', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it('shows an invisible character in a host name as an escape', () => {
    expect(visible('goo\u200bgle.com')).toBe(String.raw`goo\u200bgle.com`);
  });

  it('shows non-ASCII characters as escapes if their host name has no ASCII form', () => {
    expect(visible('https://\u0627a.com')).toBe(String.raw`https://\u0627a.com`);
  });

  it.each([
    ['a。b。аpple。com', 'a.b.xn--pple-43d.com'],
    ['..аpple。com', '..xn--pple-43d.com'],
    ['a。。аpple。com', 'a。。xn--pple-43d.com'],
    ['аpple。com。', 'xn--pple-43d.com。'],
  ])('shows the host name in %s in ASCII form, wherever it begins and ends', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it.each(['a。', 'a.', 'é。', 'a', '@a', '//a', '。', ' '])('shows a long text of %j quickly', (part) => {
    const text = part.repeat(16_000 / part.length);
    expect(cpuTime(() => visible(text))).toBeLessThan(200);
  });

  const NO_INK = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800\ufffc\u{1d159}]/u;
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom('a', '"', '\\', ' ', '\n', '\u05d0', '\u202e', '\u2800', '\ud83d', 'u{41}'),
    }),
  );

  it('is shown with nothing in it that cannot be seen, on one line, and can be read back', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = shownValue(text);
        expect(shown.replaceAll(' ', '')).not.toMatch(NO_INK);
        // A host name is shown in another form.
        if (!/[@/.\u3002\uff0e\uff61]/u.test(text)) expect(readBack(shown)).toBe(text);
      }),
      { numRuns: effort(500, 50_000) },
    );
  });

  it('differs from every value of another type', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(shownValue(one) === shownValue(other)).toBe(same);
        if (typeof one !== 'string') expect(shownValue(one)).not.toBe(shownValue(JSON.stringify(one)));
      }),
      { numRuns: effort(500, 50_000) },
    );
  });

  it('shows sentences in any language unchanged', () => {
    for (const text of [
      'שלום עולם, 5 פעמים',
      'مرحبا بالعالم',
      'ក្រុមហ៊ុន',
      'မြန်မာစာ',
      'น้ำใจ ก็ได้',
      'Tiếng Việt đẹp',
      '日本語 한국어',
      'Grüße aus Köln. Bis bald!',
      '今天很好。明天见。',
      'C’est déjà fait',
      '3.5 kg',
      'Ünal Ağca',
    ])
      expect(visible(text)).toBe(text);
  });
});

/** The text that is shown, without its quotes and escapes. */
function readBack(shown: string): string {
  return shown
    .slice(1, -1)
    .replace(/\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|([nrt])|(["\\]))/g, (_, long, short, letter, sign) => {
      if (letter !== undefined) return { n: '\n', r: '\r', t: '\t' }[letter as 'n'] ?? '';
      return sign ?? String.fromCodePoint(Number.parseInt(long ?? short, 16));
    });
}
