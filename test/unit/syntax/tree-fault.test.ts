import { expect, it } from 'vitest';
import { treeFault } from '../../../src/daemon/syntax/json.ts';

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
