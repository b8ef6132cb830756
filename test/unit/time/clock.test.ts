import { expect, it } from 'vitest';
import { timeOrderedId } from '../../../src/daemon/time/clock.ts';

it('timeOrderedId makes UUIDs of version 7, which sort by time and never repeat', () => {
  const now = Date.UTC(2026, 0, 1);
  const ids = Array.from({ length: 500 }, (_, ms) => timeOrderedId(now + ms));
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(Array.from({ length: 500 }, () => timeOrderedId(now))).size).toBe(500);
});
