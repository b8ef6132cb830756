import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps.ts';
import {
  NO_TOKENS,
  reserveTokens,
  settleTokens,
  type TokenRequest,
  type TokenState,
  type TokenWindow,
  windowEnd,
} from './token-window.ts';

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
