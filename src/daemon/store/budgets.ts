import type { TokenRequest, TokenState } from './token-window.ts';

/**
 * How many tokens of AGENT_DAILY_TOKENS each person and each anonymous client has used in a sliding window of 24 hours,
 * across all channels and daemons. The rule is in token-window.ts.
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
