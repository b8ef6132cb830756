import { DAY_MS } from '../bounds.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';

/**
 * How many tokens of AGENT_DAILY_TOKENS each person and each anonymous client has used in a sliding window of 24 hours,
 * across all channels and daemons.
 */
export interface BudgetStore {
  /**
   * Reserves tokens before a model call. Exact even if many daemons ask at the same time, and durable when it resolves.
   * A reservation that is never settled expires.
   */
  reserve(key: string, request: TokenRequest): Promise<TokenState>;
  /** Ends a reservation, even an expired one, and counts the tokens that were used. */
  settle(key: string, id: string, tokens: number): Promise<void>;
}

export const BUDGET: Kind<TokenWindow> = { name: 'budget', expires: windowEnd };

export function budgetStore(kernel: Kernel): BudgetStore {
  const step = stepsOf(kernel);
  const readWindow = (tx: Tx, key: string) => tx.get(BUDGET, key) ?? NO_TOKENS;
  return {
    reserve: step((tx, key, request) => {
      const { window, state } = reserveTokens(readWindow(tx, key), request, tx.now);
      tx.put(BUDGET, key, window);
      return state;
    }),
    settle: step((tx, key, id, tokens) =>
      tx.put(BUDGET, key, settleTokens(readWindow(tx, key), id, tokens, tx.now)),
    ),
  };
}

/** How long used tokens count, ms (AGENT_DAILY_TOKENS). */
export const TOKEN_WINDOW_MS = DAY_MS;
/**
 * The length of a span, ms. Tokens that are used in the same span are stored together, with the time of the last use.
 */
const SPAN_MS = 5 * 60 * 1000;

/** The tokens that one key has used and reserved. The value is immutable: functions return a new window. */
export interface TokenWindow {
  /** The used tokens, oldest first. */
  readonly used: readonly UsedTokens[];
  readonly reserved: readonly ReservedTokens[];
}

interface UsedTokens {
  /** When the tokens were used, ms since the epoch. */
  readonly at: number;
  readonly tokens: number;
}

interface ReservedTokens {
  readonly id: string;
  readonly at: number;
  readonly expires_at: number;
  readonly tokens: number;
}

interface TokenRequest {
  /** Random; no two reservations share it. */
  id: string;
  tokens: number;
  /** Maximum number of used and reserved tokens together. */
  max: number;
  /** How long the reservation counts if it is never settled, ms. */
  ttl_ms: number;
}

interface TokenState {
  /** False if there was no room, so that nothing was reserved. */
  granted: boolean;
  /** Tokens that are neither used nor reserved now. */
  left: number;
  /** ms until the requested number of tokens is free: 0 if they are free now, null if they exceed the limit. */
  retry_after_ms: number | null;
}

export const NO_TOKENS: TokenWindow = { used: [], reserved: [] };

/**
 * Reserves tokens if the window has room for them (`BudgetStore.reserve`).
 */
export function reserveTokens(
  found: TokenWindow,
  { id, tokens, max, ttl_ms }: TokenRequest,
  now: number,
): { window: TokenWindow; state: TokenState } {
  const before = windowAt(found, now);
  const left = max - sumTokens(before.used) - sumTokens(before.reserved);
  if (tokens > left) {
    const retry_after_ms = tokens > max ? null : freesAt(before, tokens - left) - now;
    return { window: before, state: { granted: false, left: Math.max(0, left), retry_after_ms } };
  }
  const reserved = [...before.reserved, { id, at: now, expires_at: now + ttl_ms, tokens }];
  return {
    window: { ...before, reserved },
    state: { granted: true, left: left - tokens, retry_after_ms: 0 },
  };
}

/** Ends a reservation, which may have expired, and counts the tokens that were used (`BudgetStore.settle`). */
export function settleTokens(found: TokenWindow, id: string, tokens: number, now: number): TokenWindow {
  const before = windowAt(found, now);
  const reserved = before.reserved.filter((one) => one.id !== id);
  if (tokens === 0) return { ...before, reserved };
  const last = before.used.at(-1);
  const isSameSpan = last !== undefined && Math.floor(last.at / SPAN_MS) === Math.floor(now / SPAN_MS);
  const used = isSameSpan
    ? [...before.used.slice(0, -1), { at: now, tokens: last.tokens + tokens }]
    : [...before.used, { at: now, tokens }];
  return { used, reserved };
}

/** When nothing in the window counts anymore, ms since the epoch; 0 if it is empty. */
function windowEnd({ used, reserved }: TokenWindow): number {
  return Math.max(
    0,
    ...used.map(({ at }) => at + TOKEN_WINDOW_MS),
    ...reserved.map(({ expires_at }) => expires_at),
  );
}

/**
 * The tokens that count now. If the clock was set back, everything counts for at most as long as if it had happened
 * now.
 * @returns the same object if nothing changes.
 */
function windowAt(found: TokenWindow, now: number): TokenWindow {
  const { used, reserved } = found;
  const isUsed = used.every(({ at }) => at <= now && at > now - TOKEN_WINDOW_MS);
  if (isUsed && reserved.every(({ at, expires_at }) => at <= now && expires_at > now)) return found;
  return {
    used: used
      .filter(({ at }) => at > now - TOKEN_WINDOW_MS)
      .map((one) => (one.at > now ? { ...one, at: now } : one)),
    reserved: reserved
      .filter(({ expires_at }) => expires_at > now)
      .map((one) => (one.at > now ? { ...one, at: now, expires_at: now + one.expires_at - one.at } : one)),
  };
}

/** When this many of the used and reserved tokens will be free again, ms since the epoch. */
function freesAt({ used, reserved }: TokenWindow, wanted: number): number {
  const ends = [
    ...used.map(({ at, tokens }) => ({ at: at + TOKEN_WINDOW_MS, tokens })),
    ...reserved.map(({ expires_at, tokens }) => ({ at: expires_at, tokens })),
  ].sort((a, b) => a.at - b.at);
  let freed = 0;
  for (const { at, tokens } of ends) {
    freed += tokens;
    if (freed >= wanted) return at;
  }
  return ends.at(-1)?.at ?? 0;
}

function sumTokens(entries: readonly { tokens: number }[]): number {
  return entries.reduce((sum, { tokens }) => sum + tokens, 0);
}
