import type Database from 'better-sqlite3';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { AnonymousBytes, AnonymousRows, ClientSize, IdleRow } from './anonymous-bytes.ts';

/** Approximate size of a row and its index entries without its JSON, bytes. */
const TRACE_BYTES = 250;
const SIZE = `iif(client IS NULL, 0, ${TRACE_BYTES} + octet_length(trace))`;

/** A trace that was found. */
export interface KeptTrace {
  kept_at: number;
  trace: string;
}

/**
 * A table of traces, limited by age and number. Ids rise with time, so the oldest rows are found without an index. The
 * difference of two ids is at least the number of rows between them.
 */
export class TraceRing implements AnonymousRows {
  readonly #max: number;
  readonly #anonymous: AnonymousBytes;
  readonly #insert;
  readonly #select;
  readonly #selectOf;
  readonly #delete;
  readonly #deleteOldest;
  readonly #sizes;
  readonly #longestIdle;

  /**
   * @param max the maximum number of traces.
   * @param foundMax the maximum number of traces that a lookup returns. Beyond that, it returns the newest.
   */
  constructor(
    db: Database.Database,
    table: string,
    { max, foundMax, anonymous }: { max: number; foundMax: number; anonymous: AnonymousBytes },
  ) {
    this.#max = max;
    this.#anonymous = anonymous;
    anonymous.include(this);
    this.#insert = db.prepare<[number, string | null, string, string, string | null, string | null, string]>(
      `INSERT INTO ${table} (kept_at, client, turn_id, request_id, session_id, message_id, trace)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
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
    const deleted = `RETURNING client, ${SIZE} AS bytes`;
    this.#delete = db.prepare<[number], ClientSize>(`DELETE FROM ${table} WHERE id = ? ${deleted}`);
    this.#deleteOldest = db.prepare<{ expired: number; max: number; bite: number }, ClientSize>(
      `DELETE FROM ${table}
       WHERE id IN (SELECT id FROM ${table} ORDER BY id LIMIT @bite)
         AND (kept_at <= @expired OR id <= (SELECT max(id) FROM ${table}) - @max) ${deleted}`,
    );
    this.#sizes = db.prepare<[], ClientSize>(
      `SELECT client, sum(${SIZE}) AS bytes FROM ${table} WHERE client IS NOT NULL GROUP BY client`,
    );
    this.#longestIdle = db.prepare<[string, number], IdleRow>(
      `SELECT id, kept_at AS idle_since FROM ${table} WHERE client = ? ORDER BY id LIMIT ?`,
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

  /**
   * Within a commit: stores a trace. @param json the trace as JSON. @param client the tag of the anonymous client for
   * whom the trace counts; null if it counts with its turn, or if there is no such client. @returns the id of its row.
   */
  insert(
    { turn_id, request_id, session_id, message_id }: TraceRecord,
    json: string,
    now: number,
    client: string | null = null,
  ): number {
    this.#anonymous.add(client, TRACE_BYTES + Buffer.byteLength(json));
    const { lastInsertRowid } = this.#insert.run(
      ...[now, client, turn_id, request_id, session_id, message_id, json],
    );
    return Number(lastInsertRowid);
  }

  sizes(): Iterable<ClientSize> {
    return this.#sizes.iterate();
  }

  longestIdle(client: string, limit: number): readonly IdleRow[] {
    return this.#longestIdle.all(client, limit);
  }

  /** Within a commit: deletes a trace by the id of its row. @returns the number of deleted rows. */
  evict(id: number): number {
    return this.#forget(this.#delete.all(id));
  }

  /**
   * Within a commit: deletes at most `bite` traces that are too old or exceed the limit. @returns the number of deleted
   * traces.
   */
  deleteOldest(expired: number, bite: number): number {
    return this.#forget(this.#deleteOldest.all({ expired, max: this.#max, bite }));
  }

  /** The rows were deleted, and no longer count. @returns their number. */
  #forget(deleted: readonly ClientSize[]): number {
    for (const { client, bytes } of deleted) this.#anonymous.add(client, -bytes);
    return deleted.length;
  }
}
