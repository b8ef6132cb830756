import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
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
import type { GroupCommit } from './writer.ts';

/** The budgets of AGENT_DAILY_TOKENS, one row for each key. */
export class SqliteBudgets implements BudgetStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #find;
  readonly #put;
  readonly #deleteExpired;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#find = db.prepare<[string], string>('SELECT tokens FROM budgets WHERE key = ?').pluck();
    this.#put = db.prepare<[string, string, number]>(
      'INSERT OR REPLACE INTO budgets (key, tokens, expires_at) VALUES (?, ?, ?)',
    );
    this.#deleteExpired = db.prepare<[number, number]>(
      'DELETE FROM budgets WHERE key IN (SELECT key FROM budgets WHERE expires_at <= ? LIMIT ?)',
    );
  }

  reserve(key: string, request: TokenRequest): Promise<TokenState> {
    return this.#commit.write(() => {
      const found = this.#windowOf(key);
      const { window, state } = reserveTokens(found, request, this.#clock.now());
      if (window !== found) this.#keep(key, window);
      return state;
    });
  }

  settle(key: string, id: string, tokens: number): Promise<void> {
    return this.#commit.write(() =>
      this.#keep(key, settleTokens(this.#windowOf(key), id, tokens, this.#clock.now())),
    );
  }

  /**
   * Within a commit: deletes at most `bite` budgets whose tokens no longer count. @returns the number of deleted
   * budgets.
   */
  deleteExpired(bite: number): number {
    return this.#deleteExpired.run(this.#clock.now(), bite).changes;
  }

  #windowOf(key: string): TokenWindow {
    const json = this.#find.get(key);
    return json === undefined ? NO_TOKENS : (JSON.parse(json) as TokenWindow);
  }

  #keep(key: string, window: TokenWindow): void {
    this.#put.run(key, JSON.stringify(window), windowEnd(window));
  }
}
