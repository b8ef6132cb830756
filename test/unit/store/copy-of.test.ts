import { describe, expect, it } from 'vitest';
import { copyOf, frozen } from '../../../src/daemon/store/kernels/copy-of.ts';

describe('copyOf', () => {
  it('copies all parts of data, whatever their names are', () => {
    const text = '{"__proto__":{"a":[{"b":1}]},"constructor":null,"c":[1,"2"]}';
    const data = JSON.parse(text);
    const copy = copyOf(data);
    Object.values<{ a: unknown[] }>(data)[0]?.a.pop();
    expect(JSON.stringify(copy)).toBe(text);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it('shares what nobody can change', () => {
    const part = frozen({ a: 1 });
    const copy = copyOf({ part }) as { part: unknown };
    expect(copy.part).toBe(part);
  });

  it('refuses a function in a part', () => {
    expect(() => copyOf({ a: [{ b: () => 1 }] })).toThrow('The store takes and returns data only.');
  });
});
