import type { TokenRequest, TokenState } from './token-window.ts';

/**
 * What each person and each anonymous client has used of AGENT_DAILY_TOKENS: a sliding window of 24 hours, over all
 * channels and daemons. The rule is in token-window.ts.
 */
export interface BudgetStore {
  /**
   * Reserves tokens before a call of a model: exact, however many daemons ask at the same time, and durable when it
   * resolves. A reservation that is never settled expires.
   */
  reserve(key: string, request: TokenRequest): Promise<TokenState>;
  /** Ends a reservation, whether it has expired or not, and counts the tokens that were used. */
  settle(key: string, id: string, tokens: number): Promise<void>;
}
