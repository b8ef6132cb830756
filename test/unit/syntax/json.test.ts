import { describe, expect, it } from 'vitest';
import { parseExactly } from '../../../src/daemon/syntax/json.ts';

describe('the exact JSON parser', () => {
  it.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    [
      '[[-9007199254740993],{"a":12345678901234567890}]',
      [['-9007199254740993'], { a: '12345678901234567890' }],
    ],
    ['9007199254740993', '9007199254740993'],
  ])('keeps the digits of an integer that a number cannot hold: %s', (json, value) => {
    expect(parseExactly(json)).toEqual(value);
  });

  it.each(['{"id":9007199254740991}', '[1.2345678901234567,-0.1]', '"9007199254740993"', '{"__proto__":1}'])(
    'otherwise returns the same as JSON.parse: %s',
    (json) => {
      expect(parseExactly(json)).toEqual(JSON.parse(json));
    },
  );

  it('refuses invalid JSON', () => {
    expect(() => parseExactly('[9007199254740993')).toThrow(SyntaxError);
  });
});
