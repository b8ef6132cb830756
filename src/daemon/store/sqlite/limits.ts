import type Database from 'better-sqlite3';
import { type AddedHit, addHit, type Hits, hitCount } from '../../guard/hits.ts';
import type { Clock } from '../../time/clock.ts';
import { hitWindow } from '../hit-window.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { packHit, packHits, unpackHit, unpackHits } from './packed-hits.ts';
import { LOG_SURPLUS, type Packing, StateLog } from './state-log.ts';
import type { GroupCommit } from './writer.ts';

export const LIMIT_PACKING: Packing<Hits, AddedHit> = {
  pack: packHits,
  unpack: unpackHits,
  packChange: packHit,
  unpackChange: unpackHit,
  apply: addHit,
  size: hitCount,
};

/** Request limits: sliding windows, measured with the store's clock. */
export class SqliteLimits implements LimitStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #windows: StateLog<Hits, AddedHit>;

  /** @param surplus the surplus of the log; `LOG_SURPLUS` except in tests. */
  constructor(db: Database.Database, commit: GroupCommit, clock: Clock, surplus = LOG_SURPLUS) {
    this.#commit = commit;
    this.#clock = clock;
    this.#windows = new StateLog(db, 'limit_log', LIMIT_PACKING, clock, surplus);
    commit.keep(this.#windows);
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.decide(() => {
      const now = this.#clock.now();
      const found = this.#windows.get(key, now);
      const { state, hits, added, expires_at } = hitWindow(found, limit, now);
      if (hits !== found) this.#windows.put(key, hits, added, expires_at);
      return state;
    });
  }

  /** Within a commit: deletes expired windows, about `bite` of them. @returns their number, but at most `bite`. */
  deleteExpired(bite: number): number {
    return this.#windows.deleteExpired(bite);
  }
}
