import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { TraceRecord } from '../../message/trace.ts';
import type { TraceStore } from '../traces.ts';
import { type GroupCommit, read } from './writer.ts';

/** Traces that are kept at most; beyond it the oldest go, whatever TRACE_RETENTION_DAYS says. */
export const TRACES_MAX = 100_000;

/** Traces that one look-up answers at most: the newest. */
const FOUND_MAX = 200;

export interface TraceBounds {
  clock: Clock;
  /** TRACE_RETENTION_DAYS, in ms. */
  retentionMs: number;
  /** Kept at most; `TRACES_MAX` but for tests. */
  max: number;
}

/** Traces as JSON, found by any of their ids, bounded by age and by number. */
export class SqliteTraces implements TraceStore {
  readonly #bounds: TraceBounds;
  readonly #commit: GroupCommit;
  readonly #insert;
  readonly #select;
  readonly #deleteOldest;

  constructor(db: Database.Database, commit: GroupCommit, bounds: TraceBounds) {
    this.#bounds = bounds;
    this.#commit = commit;
    this.#insert = db.prepare<[number, string, string, string | null, string | null, string]>(
      `INSERT INTO traces (kept_at, turn_id, request_id, session_id, message_id, trace) VALUES (?, ?, ?, ?, ?, ?)`,
    );
    // Indexed among each 256 traces: rows that are written together have their ids side by side, and a look-up
    // tries one place after another, which are as few as the traces are bounded.
    const having = (condition: string) =>
      `SELECT id FROM bucket CROSS JOIN traces ON traces.id / 256 = bucket.n AND ${condition}`;
    // A platform's message id may come with the channel's name before it: `name:id`.
    this.#select = db
      .prepare<{ id: string; channel: string; rest: string }, string>(
        `WITH RECURSIVE bucket (n) AS (
           SELECT min(id) / 256 FROM traces UNION ALL
           SELECT n + 1 FROM bucket WHERE n < (SELECT max(id) / 256 FROM traces))
         SELECT trace FROM traces WHERE id IN (
           ${having('turn_id = @id')} UNION ALL ${having('request_id = @id')} UNION ALL
           ${having('session_id = @id')} UNION ALL ${having('message_id = @id')} UNION ALL
           ${having("message_id = @rest AND trace ->> 'platform' = @channel")})
         ORDER BY id DESC LIMIT ${FOUND_MAX}`,
      )
      .pluck();
    this.#deleteOldest = db.prepare<{ expired: number; max: number; bite: number }>(
      `DELETE FROM traces
       WHERE id IN (SELECT id FROM traces ORDER BY id LIMIT @bite)
         AND (kept_at <= @expired OR id <= (SELECT max(id) FROM traces) - @max)`,
    );
  }

  keep(trace: TraceRecord): Promise<void> {
    return this.#commit.write(() => this.insert(trace));
  }

  find(id: string): Promise<TraceRecord[]> {
    const colon = id.indexOf(':');
    const [channel, rest] = colon < 0 ? ['', ''] : [id.slice(0, colon), id.slice(colon + 1)];
    return read(() =>
      this.#select
        .all({ id, channel, rest })
        .reverse()
        .map((json) => JSON.parse(json) as TraceRecord),
    );
  }

  /** Within a commit: keeps a trace. */
  insert(trace: TraceRecord): void {
    const { turn_id, request_id, session_id, message_id } = trace;
    this.#insert.run(
      this.#bounds.clock.now(),
      turn_id,
      request_id,
      session_id,
      message_id,
      JSON.stringify(trace),
    );
  }

  /** Within a commit: deletes at most `bite` of those that are too old or too many. @returns how many. */
  deleteExpired(bite: number): number {
    const { clock, retentionMs, max } = this.#bounds;
    return this.#deleteOldest.run({ expired: clock.now() - retentionMs, max, bite }).changes;
  }
}
