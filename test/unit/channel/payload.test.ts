import { expect, it } from 'vitest';
import { asFields, asObjects, isRecent, isSameSecret } from '../../../src/channel/index.ts';

const NOW = 1_700_000_000_900;

it.each([
  ['1700000000', true],
  ['1699999700', true],
  ['1700000300', true],
  ['1699999699', false],
  ['1700000301', false],
  ['', false],
  ['-1700000000', false],
  ['1.7e9', false],
  ['1700000000000', false],
])('a signature of %s is recent: %s', (timestamp, expected) => {
  expect(isRecent(timestamp, NOW)).toBe(expected);
});

it('secrets are compared whatever their length', () => {
  expect(isSameSecret('a secret', 'a secret')).toBe(true);
  for (const other of ['', 'a secre', 'a secret ', 'A secret'])
    expect(isSameSecret(other, 'a secret')).toBe(false);
});

it('a payload of any shape is read as objects', () => {
  for (const value of [null, undefined, 1, 'text', [], true]) {
    expect(asFields(value)).toEqual({});
    expect(asObjects(value)).toEqual([]);
  }
  expect(asFields({ a: 1 })).toEqual({ a: 1 });
  expect(asObjects([{ a: 1 }, null, 'text', [{ b: 1 }], { c: 1 }])).toEqual([{ a: 1 }, { c: 1 }]);
});
