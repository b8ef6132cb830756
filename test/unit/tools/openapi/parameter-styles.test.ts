import { describe, expect, it } from 'vitest';
import {
  headerText,
  type ParameterForm,
  pathText,
  queryPairs,
} from '../../../../src/daemon/tools/openapi/parameter-styles.ts';

const ARRAY = ['blue', 'black', 'brown'];
const OBJECT = { R: 100, G: 200, B: 150 };

function form(
  style: ParameterForm['style'],
  explode: boolean,
  rest: Partial<ParameterForm> = {},
): ParameterForm {
  return { name: 'color', style, explode, allowReserved: false, ...rest };
}

/** The expected texts are from the table in OpenAPI 3.1.1 and 3.0.4, "Style Examples". */
describe('a path parameter', () => {
  it.each([
    ['matrix', false, ';color', ';color=blue', ';color=blue,black,brown', ';color=R,100,G,200,B,150'],
    ['matrix', true, ';color', ';color=blue', ';color=blue;color=black;color=brown', ';R=100;G=200;B=150'],
    ['label', false, '.', '.blue', '.blue,black,brown', '.R,100,G,200,B,150'],
    ['label', true, '.', '.blue', '.blue.black.brown', '.R=100.G=200.B=150'],
    ['simple', false, '', 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
    ['simple', true, '', 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
  ] as const)(
    'has the documented forms with the style %s, explode %s',
    (style, explode, empty, text, array, object) => {
      const written = ['', 'blue', ARRAY, OBJECT].map((value) => pathText(form(style, explode), value));
      expect(written).toEqual([empty, text, array, object]);
    },
  );

  it('is percent-encoded, except its delimiters', () => {
    expect(pathText(form('simple', false), ['a,b', 'c/d', '..'])).toBe('a%2Cb,c%2Fd,..');
    expect(pathText(form('matrix', true, { name: 'ä' }), 'ü;=')).toBe(';%C3%A4=%C3%BC%3B%3D');
    expect(pathText(form('simple', false), "!'()*~ %2e\u{1F600}")).toBe(
      '%21%27%28%29%2A~%20%252e%F0%9F%98%80',
    );
  });

  it('is JSON if it has `content`', () => {
    expect(pathText(form('json', false), { a: [1] })).toBe('%7B%22a%22%3A%5B1%5D%7D');
  });
});

describe('a query parameter', () => {
  it.each([
    ['form', false, 'color=', 'color=blue', 'color=blue,black,brown', 'color=R,100,G,200,B,150'],
    ['form', true, 'color=', 'color=blue', 'color=blue&color=black&color=brown', 'R=100&G=200&B=150'],
    [
      'spaceDelimited',
      false,
      'color=',
      'color=blue',
      'color=blue%20black%20brown',
      'color=R%20100%20G%20200%20B%20150',
    ],
    [
      'pipeDelimited',
      false,
      'color=',
      'color=blue',
      'color=blue%7Cblack%7Cbrown',
      'color=R%7C100%7CG%7C200%7CB%7C150',
    ],
    [
      'spaceDelimited',
      true,
      'color=',
      'color=blue',
      'color=blue&color=black&color=brown',
      'R=100&G=200&B=150',
    ],
    [
      'deepObject',
      true,
      'color=',
      'color=blue',
      'color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown',
      'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150',
    ],
  ] as const)(
    'has the documented forms with the style %s, explode %s',
    (style, explode, empty, text, array, object) => {
      const written = ['', 'blue', ARRAY, OBJECT].map((value) =>
        queryPairs(form(style, explode), value).join('&'),
      );
      expect(written).toEqual([empty, text, array, object]);
    },
  );

  it.each(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const)(
    'with the style %s is left out if it is null, or an empty list or object',
    (style) => {
      for (const explode of [true, false])
        expect([null, [], {}].flatMap((value) => queryPairs(form(style, explode), value))).toEqual([]);
    },
  );

  it('never adds another parameter, whatever its value contains', () => {
    expect(queryPairs(form('form', true), 'a&admin=true#x')).toEqual(['color=a%26admin%3Dtrue%23x']);
    expect(queryPairs(form('form', true, { name: 'a&b' }), 1)).toEqual(['a%26b=1']);
    expect(queryPairs(form('form', false), ['a,b', 'c&d'])).toEqual(['color=a%2Cb,c%26d']);
    expect(queryPairs(form('deepObject', true), { 'x]=1&y[': 'v' })).toEqual([
      'color%5Bx%5D%3D1%26y%5B%5D=v',
    ]);
  });

  it('with allowReserved keeps reserved characters, except those that end a value', () => {
    expect(queryPairs(form('form', true, { allowReserved: true }), "/a?b:c@d,e$!'()*")).toEqual([
      "color=/a?b:c@d,e$!'()*",
    ]);
    expect(queryPairs(form('form', true, { allowReserved: true }), 'a&b=c+d;e#f[g]%26')).toEqual([
      'color=a%26b%3Dc%2Bd%3Be%23f%5Bg%5D%2526',
    ]);
  });

  it('writes each nested level in brackets, which are empty for a list item and have the index for an object in a list', () => {
    const value = { a: { b: [1, 2] }, c: [{ d: true }], e: null };
    expect(queryPairs(form('deepObject', true), value).map(decodeURIComponent)).toEqual([
      'color[a][b][]=1',
      'color[a][b][]=2',
      'color[c][0][d]=true',
    ]);
  });

  it('is JSON if it has `content`, even for null', () => {
    expect(queryPairs(form('json', false), { a: 'ä&' })).toEqual(['color=%7B%22a%22%3A%22%C3%A4%26%22%7D']);
    expect(queryPairs(form('json', false), null)).toEqual(['color=null']);
  });

  it('writes numbers and booleans as JSON does, and half of a surrogate pair as the replacement character', () => {
    const written = [0, -1.5, 1e21, true, '\ud800'].flatMap((value) => queryPairs(form('form', true), value));
    expect(written).toEqual(['color=0', 'color=-1.5', 'color=1e%2B21', 'color=true', 'color=%EF%BF%BD']);
  });
});

describe('a header parameter', () => {
  it.each([
    [false, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
    [true, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
  ])('is not percent-encoded, explode %s', (explode, text, array, object) => {
    const written = ['blue', ARRAY, OBJECT].map((value) => headerText(form('simple', explode), value));
    expect(written).toEqual([text, array, object]);
  });
});
