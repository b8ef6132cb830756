import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addHit, type Hits, hitCount, listHits } from '../../../../src/daemon/guard/hits.ts';
import { hitWindow } from '../../../../src/daemon/store/limits/hit-window.ts';

const limit = { max: 10, window_ms: 1000 };

it('the window counts hits exactly, even if the limit changes', () => {
  const step = fc.record({
    max: fc.integer({ min: 1, max: 20 }),
    pass_ms: fc.integer({ min: 0, max: 300 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      let hits: Hits | null = null;
      let counted: number[] = [];
      let now = 1_000_000;
      for (const { max, pass_ms } of steps) {
        now += pass_ms;
        const before: Hits | null = hits;
        const listed = before && listHits(before);
        const hit = hitWindow(before, { max, window_ms: 1000 }, now);
        expect(before && listHits(before)).toEqual(listed);
        if (before && hit.added) expect(listHits(addHit(before, hit.added))).toEqual(listHits(hit.hits));
        hits = hit.hits;
        counted = counted.filter((at) => at > now - 1000);
        const allowed = counted.length < max;
        if (allowed) counted.push(now);
        const frees = counted.at(-max);
        expect(hit.state).toEqual({
          allowed,
          remaining: Math.max(0, max - counted.length),
          retry_after_ms: frees === undefined ? 0 : frees + 1000 - now,
          reset_ms: (counted.at(-1) ?? now) + 1000 - now,
        });
      }
    }),
  );
});

it('the window keeps its hits if the clock is set back a little, and drops them if the clock is set back by more than the window', () => {
  let now = 1_000_000;
  let hits: Hits | null = null;
  const hit = () => {
    const after = hitWindow(hits, limit, now);
    hits = after.hits;
    return after.state;
  };
  for (let times = 0; times < 8; times++) {
    now += 10;
    hit();
  }
  now -= 500;
  expect(hit()).toEqual({ allowed: true, remaining: 1, retry_after_ms: 0, reset_ms: 1000 });
  expect(hit()).toMatchObject({ allowed: true, remaining: 0, retry_after_ms: 930 });
  now -= 600;
  // No wait is longer than the window, however often the clock is set back.
  expect(hit()).toEqual({ allowed: false, remaining: 0, retry_after_ms: 930, reset_ms: 1000 });
  now -= 1001;
  expect(hit()).toEqual({ allowed: true, remaining: 9, retry_after_ms: 0, reset_ms: 1000 });
});

it('the window drops expired hits, and adding a hit costs the same however many are stored', () => {
  const many = { max: 1_000_000, window_ms: 60_000 };
  let hits: Hits | null = null;
  let copies = 0;
  for (let n = 0; n < 200_000; n++) {
    const after = hitWindow(hits, many, n * 10);
    if (hits !== null && after.hits.array !== (hits as Hits).array) copies++;
    hits = after.hits;
  }
  expect(hitCount(hits as unknown as Hits)).toBeLessThanOrEqual(6001);
  expect((hits as unknown as Hits).array.length).toBeLessThanOrEqual(12_002);
  expect(copies).toBeLessThan(40);
});

it('hitWindow does not change the hits that it is given', () => {
  const one = hitWindow(null, limit, 1000).hits;
  const two = hitWindow(one, limit, 1001).hits;
  const three = hitWindow(one, limit, 1002).hits;
  expect([one, two, three].map((hits) => listHits(hits).map(({ at }) => at))).toEqual([
    [1000],
    [1000, 1001],
    [1000, 1002],
  ]);
});
