import { expect, it } from 'vitest';
import { randomSuffix, timeOrderedId } from '../../../src/daemon/time/clock.ts';

it('timeOrderedId makes UUIDs of version 7, which sort by time and never repeat', () => {
  const now = Date.UTC(2026, 0, 1);
  const ids = Array.from({ length: 500 }, (_, ms) => timeOrderedId(now + ms));
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(Array.from({ length: 500 }, () => timeOrderedId(now))).size).toBe(500);
});

it('all 128 bits of a random suffix are random', () => {
  const suffixes = Array.from({ length: 400 }, () => randomSuffix());
  const seen = { set: Buffer.alloc(16), unset: Buffer.alloc(16) };
  for (const suffix of suffixes) {
    expect(suffix).toMatch(/^[A-Za-z0-9_-]{22}$/);
    for (const [place, byte] of Buffer.from(suffix, 'base64url').entries()) {
      seen.set[place] = (seen.set[place] as number) | byte;
      seen.unset[place] = (seen.unset[place] as number) | ~byte;
    }
  }
  expect(new Set(suffixes).size).toBe(400);
  expect([...seen.set, ...seen.unset]).toEqual(Array(32).fill(0xff));
});
