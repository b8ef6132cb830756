import { describe, expect, it } from 'vitest';
import { parseExactly } from '../../src/daemon/exact-json.ts';

describe('JSON', () => {
  it.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    [
      '[[-9007199254740993],{"a":12345678901234567890}]',
      [['-9007199254740993'], { a: '12345678901234567890' }],
    ],
    ['9007199254740993', '9007199254740993'],
  ])('keeps the digits of integers that a number cannot hold: %s', (json, value) => {
    expect(parseExactly(json)).toEqual(value);
  });

  it.each(['{"id":9007199254740991}', '[1.2345678901234567,-0.1]', '"9007199254740993"', '{"__proto__":1}'])(
    'is otherwise parsed as by JSON.parse: %s',
    (json) => {
      expect(parseExactly(json)).toEqual(JSON.parse(json));
    },
  );

  it('is refused if it is invalid', () => {
    expect(() => parseExactly('[9007199254740993')).toThrow(SyntaxError);
  });
});
