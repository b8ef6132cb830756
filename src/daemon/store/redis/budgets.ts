import type { BudgetStore } from '../budgets.ts';
import {
  NO_TOKENS,
  reserveTokens,
  settleTokens,
  type TokenRequest,
  type TokenState,
  type TokenWindow,
  windowEnd,
} from '../token-window.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { changeRecord } from './versioned-record.ts';

export class RedisBudgets implements BudgetStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  reserve(key: string, request: TokenRequest): Promise<TokenState> {
    return this.#change(key, (found, now) => {
      const { window, state } = reserveTokens(found, request, now);
      return { window, result: state };
    });
  }

  settle(key: string, id: string, tokens: number): Promise<void> {
    return this.#change(key, (found, now) => ({
      window: settleTokens(found, id, tokens, now),
      result: undefined,
    }));
  }

  #change<Result>(
    key: string,
    rule: (found: TokenWindow, now: number) => { window: TokenWindow; result: Result },
  ): Promise<Result> {
    return changeRecord(this.#redis, this.#redis.names.key('budget', key, 'window'), (value, now) => {
      const { window, result } = rule(value === null ? NO_TOKENS : JSON.parse(value), now);
      return { result, value: JSON.stringify(window), expires_at: windowEnd(window) };
    });
  }
}
