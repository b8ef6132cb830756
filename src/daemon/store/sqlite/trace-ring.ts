import type Database from 'better-sqlite3';
import type { TraceRecord } from '../../trace/trace-record.ts';

/** A trace that was found. */
export interface KeptTrace {
  kept_at: number;
  trace: string;
}

/**
 * A table of traces, limited by age and number. Ids rise with time, so the oldest rows are found without an index. The
 * difference of two ids is at least the number of rows between them.
 */
export class TraceRing {
  readonly #max: number;
  readonly #insert;
  readonly #select;
  readonly #selectOf;
  readonly #delete;
  readonly #deleteOldest;

  /**
   * @param max the maximum number of traces.
   * @param foundMax the maximum number of traces that a lookup returns. Beyond that, it returns the newest.
   */
  constructor(db: Database.Database, table: string, max: number, foundMax: number) {
    this.#max = max;
    this.#insert = db.prepare<[number, string, string, string | null, string | null, string]>(
      `INSERT INTO ${table} (kept_at, turn_id, request_id, session_id, message_id, trace) VALUES (?, ?, ?, ?, ?, ?)`,
    );
    // The first column of each index is the number of a block of 256 traces, so that rows that are written together are
    // next to each other in the index. A lookup searches all blocks; there are few, because the number of traces is
    // limited.
    const having = (condition: string) =>
      `SELECT id FROM bucket CROSS JOIN ${table} ON ${table}.id / 256 = bucket.n AND ${condition}`;
    // A platform's message id may have the channel's name before it: `name:id`.
    this.#select = db.prepare<{ id: string; channel: string; rest: string }, KeptTrace>(
      `WITH RECURSIVE bucket (n) AS (
         SELECT min(id) / 256 FROM ${table} UNION ALL
         SELECT n + 1 FROM bucket WHERE n < (SELECT max(id) / 256 FROM ${table}))
       SELECT kept_at, trace FROM ${table} WHERE id IN (
         ${having('turn_id = @id')} UNION ALL ${having('request_id = @id')} UNION ALL
         ${having('session_id = @id')} UNION ALL ${having('message_id = @id')} UNION ALL
         ${having("message_id = @rest AND trace ->> 'platform' = @channel")})
       ORDER BY id DESC LIMIT ${foundMax}`,
    );
    this.#selectOf = db.prepare<{ platform: string | null; user_id: string }, KeptTrace>(
      `SELECT kept_at, trace FROM ${table}
       WHERE trace ->> 'user_id' = @user_id AND trace ->> 'platform' = coalesce(@platform, trace ->> 'platform')
       ORDER BY id DESC LIMIT ${foundMax}`,
    );
    this.#delete = db.prepare<[number]>(`DELETE FROM ${table} WHERE id = ?`);
    this.#deleteOldest = db.prepare<{ expired: number; max: number; bite: number }>(
      `DELETE FROM ${table}
       WHERE id IN (SELECT id FROM ${table} ORDER BY id LIMIT @bite)
         AND (kept_at <= @expired OR id <= (SELECT max(id) FROM ${table}) - @max)`,
    );
  }

  /** The traces with this id, newest first. */
  find(id: string, channel: string, rest: string): KeptTrace[] {
    return this.#select.all({ id, channel, rest });
  }

  /**
   * The traces of a user, newest first. Reads the whole table, which is acceptable because only administrators call it.
   */
  findOf({ platform = null, user_id }: { platform?: string | null; user_id: string }): KeptTrace[] {
    return this.#selectOf.all({ platform, user_id });
  }

  /** Within a commit: stores a trace. @param json the trace as JSON. @returns the id of its row. */
  insert({ turn_id, request_id, session_id, message_id }: TraceRecord, json: string, now: number): number {
    return Number(this.#insert.run(now, turn_id, request_id, session_id, message_id, json).lastInsertRowid);
  }

  /** Within a commit: deletes a trace by the id of its row. */
  delete(id: number): void {
    this.#delete.run(id);
  }

  /**
   * Within a commit: deletes at most `bite` traces that are too old or exceed the limit. @returns the number of deleted
   * traces.
   */
  deleteOldest(expired: number, bite: number): number {
    return this.#deleteOldest.run({ expired, max: this.#max, bite }).changes;
  }
}
