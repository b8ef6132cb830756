import { describe, expect, it } from 'vitest';
import { shownValue, visible } from '../../../src/daemon/confirmation/plain-value.ts';
import { cpuTime } from '../../support/cpu-time.ts';

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
  ])('shows %s as an escape', (_, character, shown) => {
    expect(shownValue(`a${character}b`)).toBe(`"a${shown}b"`);
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

  it('shows sentences in any language unchanged', () => {
    for (const text of [
      'Grüße aus Köln. Bis bald!',
      '今天很好。明天见。',
      'C’est déjà fait',
      '3.5 kg',
      'Ünal Ağca',
    ])
      expect(visible(text)).toBe(text);
  });
});
