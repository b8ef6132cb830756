import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hitWindow, type Moment } from '../../../../src/daemon/store/limits/limits.ts';

const limit = { max: 10, window_ms: 1000 };

it('the window counts hits exactly, even if the limit changes', () => {
  const step = fc.record({
    max: fc.integer({ min: 1, max: 20 }),
    pass_ms: fc.integer({ min: 0, max: 300 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      let moments: readonly Moment[] = [];
      let counted: number[] = [];
      let now = 1_000_000;
      for (const { max, pass_ms } of steps) {
        now += pass_ms;
        const before = structuredClone(moments);
        const hit = hitWindow(moments, { max, window_ms: 1000 }, now);
        expect(moments).toEqual(before);
        moments = hit.moments;
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
  let moments: readonly Moment[] = [];
  const hit = () => {
    const after = hitWindow(moments, limit, now);
    moments = after.moments;
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

it('a limit of many hits never lets more through, stores little, and is at most a 200th of the window stricter', () => {
  const rates = fc.constantFrom(1, 3, 40, 400);
  const steps = fc.array(fc.record({ pass_ms: rates, hits: fc.integer({ min: 1, max: 200 }) }), {
    minLength: 30,
    maxLength: 80,
  });
  const many = { max: 2000, window_ms: 10_000 };
  fc.assert(
    fc.property(steps, (rounds) => {
      let moments: readonly Moment[] = [];
      const counted: number[] = [];
      let now = 1_000_000;
      for (const { pass_ms, hits } of rounds)
        for (let n = 0; n < hits; n++) {
          now += n === 0 ? pass_ms : n % 2;
          const within = (ms: number) => counted.length - 1 - counted.findLastIndex((at) => at <= now - ms);
          const { state, moments: after } = hitWindow(moments, many, now);
          moments = after;
          expect(moments.length).toBeLessThanOrEqual(256);
          if (within(10_000) >= 2000) expect(state.allowed).toBe(false);
          if (within(10_050) < 2000) expect(state.allowed).toBe(true);
          if (state.allowed) counted.push(now);
        }
    }),
    { numRuns: 5 },
  );
});
