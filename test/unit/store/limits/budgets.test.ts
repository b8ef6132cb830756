import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  NO_TOKENS,
  reserveTokens,
  settleTokens,
  TOKEN_WINDOW_MS,
  type TokenWindow,
} from '../../../../src/daemon/store/limits/budgets.ts';

const MAX = 1000;
const SPAN_MS = 5 * 60_000;
const NOW = Date.UTC(2030, 0, 1);
const used = ({ used: entries }: TokenWindow) => entries.reduce((sum, { tokens }) => sum + tokens, 0);

describe('the window of tokens', () => {
  it('never exceeds the limit, and counts each use for at least 24 hours and at most 5 minutes more', () => {
    const step = fc.record({
      pass_ms: fc.oneof(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: TOKEN_WINDOW_MS })),
      tokens: fc.integer({ min: 0, max: 700 }),
      /** The share of the reserved tokens that was used. */
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      settles: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let window = NO_TOKENS;
        let now = NOW;
        const uses: { at: number; tokens: number }[] = [];
        let open: { id: string; tokens: number; until: number }[] = [];
        for (const [index, { pass_ms, tokens, share, settles }] of steps.entries()) {
          now += pass_ms;
          open = open.filter(({ until }) => until > now);
          const atLeast = uses.filter(({ at }) => at > now - TOKEN_WINDOW_MS);
          const atMost = uses.filter(({ at }) => at > now - TOKEN_WINDOW_MS - SPAN_MS);
          const sum = (list: { tokens: number }[]) => list.reduce((all, one) => all + one.tokens, 0);
          const id = `r${index}`;
          const asked = reserveTokens(window, { id, tokens, max: MAX, ttl_ms: SPAN_MS }, now);
          expect(MAX - asked.state.left).toBeGreaterThanOrEqual(
            sum(atLeast) + sum(open) + (asked.state.granted ? tokens : 0),
          );
          if (!asked.state.granted) expect(tokens + sum(atMost) + sum(open)).toBeGreaterThan(MAX);
          window = asked.window;
          if (asked.state.granted) open.push({ id, tokens, until: now + SPAN_MS });
          const [first] = open;
          if (!settles || !first) continue;
          open = open.filter((one) => one !== first);
          const spent = Math.floor(first.tokens * share);
          window = settleTokens(window, first.id, spent, now);
          if (spent > 0) uses.push({ at: now, tokens: spent });
        }
      }),
    );
  });

  it('returns how long it takes until there is room', () => {
    let window = settleTokens(NO_TOKENS, 'a', 500, NOW);
    window = settleTokens(window, 'b', 400, NOW + SPAN_MS);
    const ask = (tokens: number, now: number) =>
      reserveTokens(window, { id: 'c', tokens, max: MAX, ttl_ms: 1 }, now).state;
    expect(ask(100, NOW + SPAN_MS).granted).toBe(true);
    expect(ask(600, NOW + SPAN_MS).retry_after_ms).toBe(TOKEN_WINDOW_MS - SPAN_MS);
    expect(ask(601, NOW + SPAN_MS).retry_after_ms).toBe(TOKEN_WINDOW_MS);
    expect(ask(600, NOW + TOKEN_WINDOW_MS).granted).toBe(true);
  });

  it('stores a day of constant use in a bounded number of entries', () => {
    let window = NO_TOKENS;
    for (let at = 0; at < 2 * TOKEN_WINDOW_MS; at += 30_000) window = settleTokens(window, 'r', 1, NOW + at);
    expect(window.used.length).toBeLessThanOrEqual(289);
    expect(used(window)).toBeGreaterThanOrEqual(TOKEN_WINDOW_MS / 30_000);
  });

  it('counts no use or reservation for longer than usual after the clock was set back', () => {
    let window = settleTokens(NO_TOKENS, 'a', 600, NOW);
    window = reserveTokens(window, { id: 'r', tokens: 400, max: MAX, ttl_ms: SPAN_MS }, NOW).window;
    const back = NOW - 7 * TOKEN_WINDOW_MS;
    const ask = (tokens: number, now: number) =>
      reserveTokens(window, { id: 'c', tokens, max: MAX, ttl_ms: 1 }, now);
    window = ask(2000, back).window;
    expect(ask(400, back + SPAN_MS - 1).state.granted).toBe(false);
    expect(ask(400, back + SPAN_MS).state.granted).toBe(true);
    expect(ask(1000, back + TOKEN_WINDOW_MS).state.granted).toBe(true);
  });
});
