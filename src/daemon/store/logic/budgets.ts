import type { BudgetStore } from '../budgets.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { NO_TOKENS, reserveTokens, settleTokens, type TokenWindow, windowEnd } from '../token-window.ts';

export const BUDGET: Kind<TokenWindow> = { name: 'budget', expires: windowEnd };

export function budgetStore(kernel: Kernel): BudgetStore {
  const windowOf = (tx: Tx, key: string) => tx.get(BUDGET, key) ?? NO_TOKENS;
  return {
    reserve: (key, request) =>
      kernel.step((tx) => {
        const { window, state } = reserveTokens(windowOf(tx, key), request, tx.now);
        tx.put(BUDGET, key, window);
        return state;
      }),
    settle: (key, id, tokens) =>
      kernel.step((tx) => tx.put(BUDGET, key, settleTokens(windowOf(tx, key), id, tokens, tx.now))),
  };
}
