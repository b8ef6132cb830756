import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GuardState, judge, maxHitsInWindow } from '../../../src/daemon/guard/judge.ts';
import type { Circuit, GuardedMessage, GuardLimits } from '../../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../../src/daemon/message/keys.ts';

const HOUR = 3_600_000;

const limits: GuardLimits = {
  max_messages: 5,
  window_ms: 10_000,
  cooldown_ms: 30_000,
  max_turns: 200,
  repeat_threshold: 3,
  repeat_window_ms: 60_000,
  session_ttl_ms: HOUR,
};

const { key: _, ...user } = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });

function aMessage(members: Partial<GuardedMessage> = {}): GuardedMessage {
  return {
    user: { key: 'u1', ...user },
    session_id: 's',
    text: 'a text',
    message_id: null,
    sent_at: null,
    ...members,
  };
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

/** The state of a user who sent these texts just before 110 s, in a session with this many turns. */
function aState(has: { circuit?: Circuit; texts?: string[]; turns?: number } = {}): GuardState {
  const texts = has.texts ?? [];
  const messages = texts.map((text) => ({ at: 109_999, counted_at: 109_999, text }));
  return {
    verdict: null,
    user: { user, circuit: has.circuit ?? null, messages },
    turns: { turns: has.turns ?? 0, blocked: 0, max: 200, ends_at: 1_000_000 },
  };
}

describe('judge', () => {
  const verdictOf = (state: GuardState, message: Partial<GuardedMessage> = {}, now = 110_000) =>
    judge(state, aMessage(message), limits, now).verdict;

  it('allows the first message of a user', () => {
    const nothing = { verdict: null, user: null, turns: null };
    const { verdict, state } = judge(nothing, aMessage(), limits, 1000);
    expect(verdict).toEqual({ allowed: true, repeated: false, messages: 1, equal_texts: 1, turns: 1 });
    expect(state.turns).toEqual({ turns: 1, blocked: 0, max: 200, ends_at: 1000 + HOUR });
    expect(state.user?.messages).toEqual([{ at: 1000, counted_at: 1000, text: 'a text' }]);
  });

  it('checks an earlier verdict, the circuit, burst, repetition and turns, in this order', () => {
    const over = { texts: ['a text', 'a text', 'b', 'c', 'd'], turns: 200 };
    const earlier = { ...verdictOf(aState()) };
    expect(verdictOf({ ...aState({ ...over, circuit }), verdict: earlier })).toEqual({
      ...earlier,
      repeated: true,
    });
    const reason = (has: Parameters<typeof aState>[0]) => {
      const verdict = verdictOf(aState(has));
      return verdict.allowed || [verdict.reason, 'opened' in verdict && verdict.opened];
    };
    expect(reason({ ...over, circuit })).toEqual(['repetition', false]);
    expect(reason(over)).toEqual(['rate_limit', true]);
    expect(reason({ ...over, texts: over.texts.slice(0, 4) })).toEqual(['repetition', true]);
    expect(reason({ turns: 200 })).toEqual(['turn_limit', false]);
  });

  it.each([
    ['the 5th message', { texts: ['b', 'c', 'd', 'e'] }, true],
    ['the 6th message', { texts: ['b', 'c', 'd', 'e', 'f'] }, false],
    ['the 2nd equal text', { texts: ['a text'] }, true],
    ['the 3rd equal text', { texts: ['a text', 'a text'] }, false],
    ['turn 200', { turns: 199 }, true],
    ['turn 201', { turns: 200 }, false],
  ])('applies the limits exactly: %s', (_what, has, allowed) => {
    expect(verdictOf(aState(has)).allowed).toBe(allowed);
  });

  it('does not count blocked turns, and marks only the first message over the limit as first', () => {
    const over = { ...limits, repeat_threshold: 100, max_messages: 100 };
    let state = aState({ turns: 200 });
    const next = (max_turns: number) => {
      const judged = judge({ ...state, verdict: null }, aMessage(), { ...over, max_turns }, 110_000);
      state = judged.state;
      return judged.verdict;
    };
    expect(next(200)).toMatchObject({ first: true, turns: 200, max: 200, blocked: 1 });
    expect(next(200)).toMatchObject({ first: false, turns: 200, blocked: 2 });
    expect(next(201)).toMatchObject({ allowed: true, turns: 201 });
    expect(next(201)).toMatchObject({ first: true });
    expect(state.turns).toMatchObject({ turns: 201, blocked: 1 });
  });

  it('stores the count of turns until a session that is used now would expire', () => {
    const at = (now: number) => judge(aState({ turns: 3 }), aMessage(), limits, now).state.turns?.ends_at;
    expect(at(1_000_000 - HOUR)).toBe(1_000_000);
    expect(at(999_999 - HOUR)).toBe(999_999);
  });

  it.each([
    [40_000, true],
    [40_001, false],
    [129_999, false],
    [130_000, true],
  ])('blocks a late message only if the circuit covers the time when it was sent: %d', (sent_at, allowed) => {
    expect(verdictOf(aState({ circuit }), { sent_at }, 140_000).allowed).toBe(allowed);
  });

  it.each([
    [59_999, false],
    [60_000, true],
  ])('counts an equal text exactly until its window has passed: %d ms', (passed, allowed) => {
    const hit = { at: HOUR, counted_at: HOUR, text: 'a text' };
    const state = { ...aState(), user: { user, circuit: null, messages: [hit, hit] } };
    expect(verdictOf(state, {}, HOUR + passed).allowed).toBe(allowed);
  });

  it('empties the windows when a circuit opens, and counts nothing while it is open', () => {
    const opened = judge(aState({ texts: ['b', 'c', 'd', 'e', 'f'] }), aMessage(), limits, 110_000);
    expect(opened.state.user).toMatchObject({ circuit: { reason: 'rate_limit', blocked: 1 } });
    expect(opened.state.user?.messages.length).toBe(0);
    const blocked = judge({ ...opened.state, verdict: null }, aMessage(), limits, 139_999);
    expect(blocked.verdict).toMatchObject({ opened: false, blocked: 2, retry_after_ms: 1 });
    expect(blocked.state.user?.messages.length).toBe(0);
    expect(blocked.state.turns).toBe(opened.state.turns);
  });

  it('keeps the cooldown of an open circuit if a late message belongs to an earlier burst', () => {
    const messages = ['b', 'c', 'd', 'e', 'f'].map((text) => ({ at: 1000, counted_at: 110_000, text }));
    const state = { ...aState({ circuit }), user: { user, circuit, messages } };
    const judged = judge(state, aMessage({ sent_at: 1000 }), limits, 110_000);
    expect(judged.verdict).toMatchObject({ reason: 'rate_limit', opened: false });
    expect(judged.state.user).toBe(state.user);
  });

  it('stores the user id of the latest message', () => {
    const named = { ...user, key: 'u1', user_id: 'another' };
    const { state } = judge(aState(), aMessage({ user: named }), limits, 110_000);
    expect(state.user?.user.user_id).toBe('another');
  });
});

/** A message that arrives `pass` ms after the previous message, and was sent `late` ms before it arrived. */
const sent = fc.record({
  text: fc.constantFrom('a', 'b', 'c', 'd'),
  pass: fc.integer({ min: -20_000, max: 20_000 }),
  late: fc.option(fc.integer({ min: -1000, max: 90_000 })),
});

describe('judge, for any messages,', () => {
  const tight = { ...limits, max_messages: 3, max_turns: 8 };

  it('gives the same answer again, and does not change the state that it gets', () => {
    fc.assert(
      fc.property(fc.array(sent, { maxLength: 40 }), (messages) => {
        let now = HOUR;
        let state: GuardState = { verdict: null, user: null, turns: null };
        for (const { text, pass, late } of messages) {
          now += pass;
          const before = structuredClone(state);
          const message = aMessage({ text, sent_at: late === null ? null : now - late });
          const judged = judge(state, message, tight, now);
          const again = judge(state, message, tight, now);
          expect(structuredClone(again.state)).toEqual(structuredClone(judged.state));
          expect(structuredClone(state)).toEqual(before);
          state = { ...judged.state, verdict: null };
        }
      }),
    );
  });

  it('makes no user wait longer than the cooldown, after which the next message is allowed', () => {
    fc.assert(
      fc.property(fc.array(sent, { maxLength: 40 }), fc.boolean(), (messages, isSetBack) => {
        let now = HOUR;
        let state: GuardState = { verdict: null, user: null, turns: null };
        for (const { text, pass } of messages) {
          now += isSetBack ? pass : Math.abs(pass);
          const judged = judge(state, aMessage({ text }), limits, now);
          state = { ...judged.state, verdict: null };
          if (judged.verdict.allowed || judged.verdict.reason === 'turn_limit') continue;
          expect(judged.verdict.retry_after_ms).toBeLessThanOrEqual(limits.cooldown_ms);
          if (isSetBack) continue;
          now += judged.verdict.retry_after_ms;
          const next = judge(state, aMessage({ text }), limits, now);
          expect(next.verdict.allowed).toBe(true);
          state = { ...next.state, verdict: null };
        }
      }),
    );
  });

  it('decides like a guard with unlimited memory if messages arrive in order', () => {
    const inOrder = fc.record({
      text: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      pass: fc.integer({ min: 0, max: 20_000 }),
    });
    fc.assert(
      fc.property(fc.array(inOrder, { maxLength: 60 }), (messages) => {
        let now = HOUR;
        let state: GuardState = { verdict: null, user: null, turns: null };
        let counted: { at: number; text: string }[] = [];
        let blocked_until = 0;
        for (const { text, pass } of messages) {
          now += pass;
          const judged = judge(state, aMessage({ text }), limits, now);
          state = { ...judged.state, verdict: null };
          const burst = counted.filter(({ at }) => at > now - limits.window_ms);
          const equal = counted.filter((hit) => hit.at > now - limits.repeat_window_ms && hit.text === text);
          const passes = now >= blocked_until && burst.length < 5 && equal.length < 2;
          expect(judged.verdict.allowed).toBe(passes);
          if (passes) counted.push({ at: now, text });
          else if (now >= blocked_until) {
            counted = [];
            blocked_until = now + limits.cooldown_ms;
          }
        }
      }),
    );
  });

  it('never allows more messages within a window than its limit, in whatever order they arrive', () => {
    const fullest = (times: number[]) =>
      Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 10).length));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 40 }), (seconds) => {
        let state: GuardState = { verdict: null, user: null, turns: null };
        const passed: number[] = [];
        for (const [index, second] of seconds.entries()) {
          const message = aMessage({ text: String(index), sent_at: second * 1000 });
          const { verdict, ...judged } = judge(state, message, limits, HOUR);
          state = { ...judged.state, verdict: null };
          const fits = fullest([...passed, second]) <= 5;
          if (verdict.allowed) passed.push(second);
          expect(verdict.allowed).toBe(fits);
          if (!verdict.allowed) return;
        }
      }),
    );
  });

  it('counts a late message with others of the same time, even after the burst window has passed', () => {
    let state: GuardState = { verdict: null, user: null, turns: null };
    const send = (text: string, sent_at: number, now: number) => {
      const judged = judge({ ...state, verdict: null }, aMessage({ text, sent_at }), limits, now);
      state = judged.state;
      return judged.verdict;
    };
    for (const text of ['a', 'b', 'c', 'd', 'e']) expect(send(text, 1000, 1000).allowed).toBe(true);
    expect(send('f', 21_000, 21_000)).toMatchObject({ allowed: true, messages: 1 });
    expect(send('g', 1001, 21_000)).toMatchObject({ allowed: false, reason: 'rate_limit', count: 6 });
  });

  it('drops messages that were counted while the clock was ahead', () => {
    let state: GuardState = { verdict: null, user: null, turns: null };
    const send = (text: string, sent_at: number, now: number) => {
      state = judge({ ...state, verdict: null }, aMessage({ text, sent_at }), limits, now).state;
    };
    for (let n = 0; n < 5; n++) send(`early ${n}`, n * 1000, 24 * HOUR);
    for (let n = 0; n < 100; n++) send(`later ${n}`, HOUR + n * 10_000, HOUR + n * 10_000);
    expect(state.user?.messages.length).toBeLessThanOrEqual(7);
  });

  it('does not store messages that are older than the longest window', () => {
    let state: GuardState = { verdict: null, user: null, turns: null };
    const free = { ...limits, max_turns: 1_000_000 };
    for (let n = 0; n < 1000; n++) {
      const judged = judge({ ...state, verdict: null }, aMessage({ text: String(n) }), free, HOUR + n * 2000);
      expect(judged.verdict.allowed).toBe(true);
      state = judged.state;
      expect(state.user?.messages.length).toBeLessThanOrEqual(31);
    }
  });
});

describe('maxHitsInWindow', () => {
  it('finds the fullest window that contains the hit', () => {
    const times = fc.array(fc.integer({ min: 1, max: 19 }), { maxLength: 15 });
    fc.assert(
      fc.property(times, (unsorted) => {
        const sorted = [...unsorted].sort((a, b) => a - b);
        const all = [...sorted, 10];
        const windows = Array.from({ length: 10 }, (_, from) => from + 1);
        const counts = windows.map((from) => all.filter((at) => at >= from && at < from + 10).length);
        expect(maxHitsInWindow(sorted, 10, 10)).toBe(Math.max(...counts));
      }),
    );
  });
});
