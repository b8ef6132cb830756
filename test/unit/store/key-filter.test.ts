import { expect, it } from 'vitest';
import { firstHash, hashOf, KeyFilter } from '../../../src/daemon/store/kernels/sqlite/table.ts';

const FIRST = firstHash('thing');
const hashesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => hashOf('thing', `k${from + n}`)).sort(
    (one, other) => one - other,
  );

function filterOver(hashes: readonly number[]) {
  const reads: number[] = [];
  const filter = new KeyFilter(FIRST, (from, limit) => {
    const found = hashes
      .filter((hash) => hash >= from)
      .sort((one, other) => one - other)
      .slice(0, limit);
    reads.push(found.length);
    return found;
  });
  return { filter, reads };
}

it('has every key of the table while it reads them, and knows of most others that they are new when it has', () => {
  const stored = hashesOf(0, 12_000);
  const { filter, reads } = filterOver(stored);
  expect(stored.every((hash) => filter.mayHave(hash))).toBe(true);
  expect(Math.max(...reads)).toBe(1000);
  const count = reads.length;
  const wrong = hashesOf(12_000, 17_000).filter((hash) => filter.mayHave(hash)).length;
  expect(wrong).toBeLessThan(300);
  expect(reads).toHaveLength(count);
});

it('has keys that the table gets later, however many', () => {
  const stored = hashesOf(0, 1500);
  const { filter } = filterOver(stored);
  const later = hashesOf(1500, 20_000);
  for (const hash of later) {
    filter.add(hash);
    stored.push(hash);
    expect(filter.mayHave(hash)).toBe(true);
  }
  expect(stored.every((hash) => filter.mayHave(hash))).toBe(true);
});

it('is empty only if it has read that the table has no key', () => {
  const { filter, reads } = filterOver([]);
  expect(filter.isEmpty).toBe(false);
  expect([filter.mayHave(FIRST + 5), filter.isEmpty, reads]).toEqual([false, true, [0]]);
  filter.add(FIRST + 5);
  expect([filter.isEmpty, filter.mayHave(FIRST + 5)]).toEqual([false, true]);
});
