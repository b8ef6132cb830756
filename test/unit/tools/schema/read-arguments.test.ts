import { expect, test } from 'vitest';
import { canonicalJson } from '../../../../src/daemon/tools/schema/read-arguments.ts';

test.each([
  [{ b: 1, a: { d: [{ f: 1, e: 2 }], c: null } }, '{"a":{"c":null,"d":[{"e":2,"f":1}]},"b":1}'],
  // The members of this value are already in order.
  [{ a: { c: null, d: [{ e: 2, f: 1 }] }, b: 1 }, '{"a":{"c":null,"d":[{"e":2,"f":1}]},"b":1}'],
  [{ a: 1, b: [{ d: 1, c: 2 }] }, '{"a":1,"b":[{"c":2,"d":1}]}'],
  [[3, 1, 2], '[3,1,2]'],
  [{ 10: 'x', 9: 'y', a: 'z' }, '{"9":"y","10":"x","a":"z"}'],
  [{ a: undefined, b: () => 1 }, '{}'],
  [JSON.parse('{"__proto__":{"b":1,"a":2}}'), '{"__proto__":{"a":2,"b":1}}'],
  [Object.assign(Object.create(null), { b: 1, a: 2 }), '{"a":2,"b":1}'],
  [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  [{ a: { toJSON: () => ({ c: 1, b: 2 }) } }, '{"a":{"b":2,"c":1}}'],
  [{ a: { toJSON: (name: string) => ({ name, toJSON: () => 'again' }) } }, '{"a":{"name":"a"}}'],
  [[() => 1, undefined], '[null,null]'],
  [{ toJSON: 1, a: 2 }, '{"a":2,"toJSON":1}'],
  ['text', '"text"'],
  [null, 'null'],
])('canonicalJson sorts the names of all objects in %j', (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});
