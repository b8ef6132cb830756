import { randomSuffix } from '../../clock.ts';
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
import type { RedisConnection } from './connection.ts';
import { untilWritten } from './until-written.ts';

/** The budgets of AGENT_DAILY_TOKENS, one key each. */
export class RedisBudgets implements BudgetStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
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

  async #change<T>(
    name: string,
    change: (found: TokenWindow, now: number) => { window: TokenWindow; result: T },
  ): Promise<T> {
    const key = this.#redis.names.key('budget', name, 'tokens');
    const { result } = await untilWritten(async () => {
      const read = (await this.#redis.run('read-versions', [key])) as [number, string | null, string | null];
      const [now, version, value] = read;
      const found = value === null ? NO_TOKENS : (JSON.parse(value) as TokenWindow);
      const changed = change(found, now);
      const { window } = changed;
      if (window === found) return changed;
      const write = [version ?? '', randomSuffix(), JSON.stringify(window), windowEnd(window)];
      return (await this.#redis.run('compare-and-set', [key], ...write)) === 1 ? changed : null;
    });
    return result;
  }
}
