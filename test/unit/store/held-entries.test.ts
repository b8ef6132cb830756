import { expect, it } from 'vitest';
import type { HeldEntry } from '../../../src/daemon/store/kernels/sqlite/documents.ts';
import { HeldEntries } from '../../../src/daemon/store/kernels/sqlite/held-entries.ts';

/** Entries that take as much as they may, and the keys of those that were dropped. */
function fullMemory({ count, bytes }: { count: number; bytes: number }) {
  const held = new HeldEntries(count * bytes);
  const dropped: string[] = [];
  const add = (key: string) => {
    const entry = { key, isUsed: true, next: null, previous: null } as unknown as HeldEntry;
    const before = held.size;
    held.add(entry);
    held.size = before + bytes;
    return entry;
  };
  const drop = (entry: HeldEntry) => {
    dropped.push(entry.key);
    const before = held.size;
    held.remove(entry);
    held.size = before - bytes;
  };
  const entries = Array.from({ length: count }, (_, n) => add(String(n)));
  return { held, entries, add, drop, dropped };
}

it('entries that were not used lately are dropped when all take too much, and those that are needed stay', () => {
  const { held, entries, add, drop, dropped } = fullMemory({ count: 10, bytes: 1000 });
  for (const entry of entries.slice(0, 6)) entry.isUsed = false;
  held.dropUnused(() => true, drop);
  expect(dropped).toEqual([]);
  add('10');
  add('11');
  held.dropUnused(({ key }) => key !== '1', drop);
  expect(dropped).toEqual(['0', '2']);
  for (const key of ['12', '13', '14']) add(key);
  held.dropUnused(() => true, drop);
  expect(dropped).toEqual(['0', '2', '3', '4', '5']);
  add('15');
  held.dropUnused(() => true, drop);
  expect(dropped.slice(5)).toEqual(['1']);
});

it('a commit looks at some of many entries only, unless they take far too much', () => {
  const { held, entries, add, drop, dropped } = fullMemory({ count: 10_000, bytes: 10 });
  add('another');
  const used = () => entries.filter(({ isUsed }) => isUsed).length;
  for (let commit = 1; commit <= 5; commit++) {
    held.dropUnused(() => true, drop);
    expect(used()).toBe(10_000 - 2000 * commit);
  }
  expect(dropped).toEqual([]);
  held.dropUnused(() => true, drop);
  expect(dropped).toHaveLength(1);
  for (const entry of entries) entry.isUsed = true;
  held.size *= 1.3;
  held.dropUnused(() => true, drop);
  expect(dropped.length).toBeGreaterThan(2000);
});
