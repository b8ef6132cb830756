import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GuardState, passLayers, type SessionTurns } from '../../../src/daemon/guard/layers.ts';
import { mostWithin } from '../../../src/daemon/guard/most-within.ts';
import type { Circuit, GuardLimits } from '../../../src/daemon/guard/verdict.ts';

const limits: GuardLimits = {
  max_messages: 5,
  window_ms: 10_000,
  cooldown_ms: 30_000,
  max_turns: 200,
  repeat_threshold: 3,
  repeat_window_ms: 60_000,
  session_ttl_ms: 3_600_000,
};

/** A state that says what it is told to, and notes what it is asked. */
function aState(says: { circuit?: Circuit; burst?: number; equal?: number; turns?: number } = {}) {
  const asked: string[] = [];
  let kept: { circuit: Circuit; opened: boolean } | undefined;
  let turns: SessionTurns = { turns: says.turns ?? 0, blocked: 0, max: 200, ends_at: 1_000_000 };
  const hit = (layer: string, count: number) => (window: { max: number }) => {
    asked.push(layer);
    return { allowed: count <= window.max, count };
  };
  const state: GuardState = {
    circuit: () => {
      asked.push('circuit');
      return says.circuit ?? null;
    },
    keepCircuit: (circuit, opened) => {
      kept = { circuit, opened };
    },
    hitBurst: hit('burst', says.burst ?? 1),
    hitEqualText: hit('repetition', says.equal ?? 1),
    turns: () => {
      asked.push('turns');
      return turns;
    },
    keepTurns: (now) => {
      turns = now;
    },
  };
  return { state, asked, kept: () => kept, turns: () => turns };
}

const circuit: Circuit = {
  reason: 'repetition',
  count: 3,
  max: 2,
  opened_at: 100_000,
  open_until: 130_000,
  covers_from: 40_000,
  blocked: 1,
};

describe('the layers', () => {
  it('are asked in order: circuit, burst, repetition, turns', () => {
    const { state, asked } = aState();
    expect(passLayers(state, 0, limits)).toEqual({ allowed: true, messages: 1, equal_texts: 1, turns: 1 });
    expect(asked).toEqual(['circuit', 'burst', 'repetition', 'turns']);
  });

  it('stop at the first that blocks', () => {
    const over = { burst: 6, equal: 3, turns: 200 };
    const met = (says: Parameters<typeof aState>[0]) => {
      const { state, asked } = aState(says);
      const verdict = passLayers(state, 110_000, limits);
      return [verdict.allowed || verdict.reason, ...asked];
    };
    expect(met({ ...over, circuit })).toEqual(['repetition', 'circuit']);
    expect(met(over)).toEqual(['rate_limit', 'circuit', 'burst']);
    expect(met({ ...over, burst: 5 })).toEqual(['repetition', 'circuit', 'burst', 'repetition']);
    expect(met({ turns: 200 })).toEqual(['turn_limit', 'circuit', 'burst', 'repetition', 'turns']);
  });

  it.each([
    ['the 5th message', { burst: 5 }, true],
    ['the 6th message', { burst: 6 }, false],
    ['the 2nd equal text', { equal: 2 }, true],
    ['the 3rd equal text', { equal: 3 }, false],
    ['turn 200', { turns: 199 }, true],
    ['turn 201', { turns: 200 }, false],
  ])('know their bounds: %s', (_what, says, allowed) => {
    expect(passLayers(aState(says).state, 0, limits).allowed).toBe(allowed);
  });

  it('count no turn that is blocked, and say at the first one that the limit is reached', () => {
    const { state, turns } = aState({ turns: 200 });
    expect(passLayers(state, 0, limits)).toMatchObject({ first: true, turns: 200, max: 200, blocked: 1 });
    expect(passLayers(state, 0, limits)).toMatchObject({ first: false, turns: 200, blocked: 2 });
    expect(passLayers(state, 0, { ...limits, max_turns: 201 })).toMatchObject({ allowed: true, turns: 201 });
    expect(passLayers(state, 0, { ...limits, max_turns: 201 })).toMatchObject({ first: true });
    expect(turns()).toMatchObject({ turns: 201, blocked: 1 });
  });

  it.each([
    [40_000, true],
    [40_001, false],
    [129_999, false],
    [130_000, true],
  ])('let through what was sent outside of the time that an open circuit holds: %d', (at, allowed) => {
    expect(passLayers(aState({ circuit }).state, at, limits).allowed).toBe(allowed);
  });

  it('do not end the cooldown of a circuit for a burst of before it', () => {
    const { state, kept } = aState({ circuit, burst: 6 });
    expect(passLayers(state, 1000, limits)).toMatchObject({ reason: 'rate_limit', opened: false });
    expect(kept()).toBeUndefined();
  });
});

describe('mostWithin', () => {
  it('finds the fullest window that holds the hit', () => {
    const times = fc.array(fc.integer({ min: 1, max: 19 }), { maxLength: 15 });
    fc.assert(
      fc.property(times, (unsorted) => {
        const sorted = [...unsorted].sort((a, b) => a - b);
        const all = [...sorted, 10];
        const windows = Array.from({ length: 10 }, (_, from) => from + 1);
        const counts = windows.map((from) => all.filter((at) => at >= from && at < from + 10).length);
        expect(mostWithin(sorted, 10, 10)).toBe(Math.max(...counts));
      }),
    );
  });
});
