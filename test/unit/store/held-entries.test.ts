import { expect, it } from 'vitest';
import type { Entry } from '../../../src/daemon/store/kernels/sqlite/documents.ts';
import { HeldEntries } from '../../../src/daemon/store/kernels/sqlite/held-entries.ts';

const MIB = 1024 * 1024;

it('entries that were not used lately are dropped when all take too much, and those that are needed stay', () => {
  const held = new HeldEntries(32 * MIB);
  const entries = Array.from({ length: 10 }, (_, n) => {
    const entry = { key: String(n), isUsed: true, next: null, previous: null } as unknown as Entry;
    held.add(entry);
    held.size += 4 * MIB;
    return entry;
  });
  const dropped: string[] = [];
  const drop = (entry: Entry) => {
    dropped.push(entry.key);
    held.remove(entry);
    held.size -= 4 * MIB;
  };
  for (const entry of entries.slice(0, 6)) entry.isUsed = false;
  held.dropUnused(({ key }) => key !== '1', drop);
  expect(dropped).toEqual(['0', '2', '3']);
  held.dropUnused(() => true, drop);
  expect(dropped).toHaveLength(3);
  held.size += 8 * MIB;
  held.dropUnused(() => true, drop);
  expect(dropped).toEqual(['0', '2', '3', '4', '5']);
  held.size += 8 * MIB;
  held.dropUnused(() => true, drop);
  expect(dropped.slice(5)).toEqual(['1', '6']);
});
