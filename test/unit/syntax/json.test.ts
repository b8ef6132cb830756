import { describe, expect, it } from 'vitest';
import { parseExactly, treeFault } from '../../../src/daemon/syntax/json.ts';

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

it('counts a shared value each time that it occurs, and a value that contains itself is a fault', () => {
  const shared = [1, 2];
  expect(treeFault([shared, shared], 7)).toBeNull();
  expect(treeFault([shared, shared], 6)).toBe('has more than 6 values, with those that aliases repeat');
  const self: unknown[] = [];
  self.push({ self });
  expect(treeFault(self, 100)).toBe('contains a value that refers to itself');
});

it('measures the depth of shared values where they occur, and does not exhaust the stack', () => {
  const nested = (depth: number) => {
    let value: unknown = 'x';
    for (let level = 1; level < depth; level++) value = [value];
    return value;
  };
  expect(treeFault(nested(500), 1000)).toBeNull();
  expect(treeFault(nested(501), 1000)).toBe('is nested more than 500 levels deep');
  expect(treeFault(nested(100_000), 1e9)).toBe('is nested more than 500 levels deep');
  const deep = nested(300);
  const deeper = Array.from({ length: 300 }).reduce<unknown>((value) => [value], deep);
  expect(treeFault([deep, deeper], 10_000)).toBe('is nested more than 500 levels deep');
});
