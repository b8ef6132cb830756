import type { BudgetStore } from '../budgets.ts';
import { NO_TOKENS, reserveTokens, settleTokens, type TokenWindow, windowEnd } from '../token-window.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function budgetSteps({ state: { budgets }, clock }: MemoryContext): Steps<BudgetStore> {
  const windowOf = (key: string) => budgets.get(key)?.window ?? NO_TOKENS;
  const put = (key: string, window: TokenWindow) =>
    void budgets.set(key, { window, expires_at: windowEnd(window) });
  return {
    reserve(key, request) {
      const { window, state } = reserveTokens(windowOf(key), request, clock.now());
      put(key, window);
      return state;
    },
    settle: (key, id, tokens) => put(key, settleTokens(windowOf(key), id, tokens, clock.now())),
  };
}
