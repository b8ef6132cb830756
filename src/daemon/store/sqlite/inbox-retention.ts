import type Database from 'better-sqlite3';
import { DONE_MS, FAILED_MS } from '../bounds.ts';
import type { InboxState } from '../inbox.ts';

/** Deletes messages that ended long ago, and the oldest failed messages if there are too many. */
export class InboxRetention {
  readonly #failedMax: number;
  readonly #deleteEnded;
  readonly #deleteFailed;

  constructor(db: Database.Database, failedMax: number) {
    this.#failedMax = failedMax;
    this.#deleteEnded = db.prepare<[InboxState, number, number]>(
      'DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE state = ? AND ended_at <= ? LIMIT ?)',
    );
    this.#deleteFailed = db.prepare<[number, number]>(
      `DELETE FROM inbox WHERE seq IN
         (SELECT seq FROM inbox WHERE state = 'failed' ORDER BY ended_at DESC LIMIT ? OFFSET ?)`,
    );
  }

  /** Within a commit: deletes at most `bite` messages. @returns the number of deleted messages. */
  deleteExpired(bite: number, now: number): number {
    let deleted = this.#deleteEnded.run('done', now - DONE_MS, bite).changes;
    deleted += this.#deleteEnded.run('failed', now - FAILED_MS, bite - deleted).changes;
    return deleted + this.#deleteFailed.run(bite - deleted, this.#failedMax).changes;
  }
}
