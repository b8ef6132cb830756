import type Database from 'better-sqlite3';
import type { SessionTurns } from '../../guard/verdict.ts';
import type { GroupCommit, Resident } from './writer.ts';

/** A count as it is stored in its table. */
interface TurnsRow extends SessionTurns {
  /** When the sweeper checks the count. It is never later than the end that the count had when it was written. */
  look_at: number;
}

/** The count of a session, as `find` returns it. */
export interface FoundTurns {
  /** The count for `judge`; null if none is stored, or if it has expired. */
  turns: SessionTurns | null;
  /** The stored row, even if the count has expired; null if there is none. */
  row: TurnsRow | null;
  /** When the session ends; null if the session is not stored or has ended. */
  session_ends_at: number | null;
}

/**
 * The number of turns that the guard has counted in each session, one row for each session. A count ends with its
 * session or, if the session is not stored yet, at the count's own end. `find`, `put` and `list` may be called at any
 * time, all other methods only within a commit.
 */
export class GuardTurns implements Resident {
  /** Rows that the next commit writes. */
  readonly #unsaved = new Map<string, TurnsRow>();
  /** Sessions that the next commit will end earlier, and their new end. */
  readonly #shortened = new Map<string, number>();
  readonly #row;
  readonly #sessionEnd;
  readonly #upsert;
  readonly #endSessionEarlier;
  readonly #lookEarlier;
  readonly #endEarlier;
  readonly #giveBack;
  readonly #list;
  readonly #delete;
  readonly #deleteAll;
  readonly #sweeps;

  /** @param listedMax the maximum number of counts that `list` returns. */
  constructor(db: Database.Database, commit: GroupCommit, listedMax: number) {
    commit.keep(this);
    const liveSession = (time: string) =>
      `SELECT expires_at FROM sessions
       WHERE (sessions.session_id = guard_turns.session_id OR former_id = guard_turns.session_id)
         AND expires_at > ${time}`;
    this.#row = db.prepare<[string], TurnsRow>(
      'SELECT turns, blocked, max, ends_at, look_at FROM guard_turns WHERE session_id = ?',
    );
    this.#sessionEnd = db
      .prepare<{ session_id: string; now: number }, number>(
        `SELECT expires_at FROM sessions
         WHERE (session_id = @session_id OR former_id = @session_id) AND expires_at > @now`,
      )
      .pluck();
    this.#upsert = db.prepare<TurnsRow & { session_id: string }>(
      `INSERT INTO guard_turns (session_id, turns, blocked, max, ends_at, look_at)
       VALUES (@session_id, @turns, @blocked, @max, @ends_at, @look_at)
       ON CONFLICT DO UPDATE SET turns = @turns, blocked = @blocked, max = @max, ends_at = @ends_at`,
    );
    this.#endSessionEarlier = db.prepare<{ session_id: string; ends_at: number }>(
      `UPDATE sessions SET expires_at = @ends_at, look_at = min(look_at, @ends_at)
       WHERE (session_id = @session_id OR former_id = @session_id) AND expires_at > @ends_at`,
    );
    this.#lookEarlier = db.prepare<{ session_id: string; ends_at: number }>(
      'UPDATE guard_turns SET look_at = min(look_at, @ends_at) WHERE session_id = @session_id',
    );
    this.#endEarlier = db.prepare<{ session_id: string; ends_at: number }>(
      'UPDATE guard_turns SET ends_at = @ends_at WHERE session_id = @session_id AND ends_at > @ends_at',
    );
    this.#giveBack = db.prepare<[string]>(
      'UPDATE guard_turns SET turns = turns - 1 WHERE session_id = ? AND turns > 0',
    );
    this.#list = db.prepare<{ now: number }, SessionTurns & { session_id: string }>(
      `SELECT coalesce((SELECT session_id FROM sessions WHERE former_id = guard_turns.session_id), session_id)
         AS session_id, turns, blocked, max, coalesce((${liveSession('@now')}), ends_at) AS ends_at
       FROM guard_turns WHERE blocked > 0 AND coalesce((${liveSession('@now')}), ends_at) > @now
       ORDER BY ends_at DESC LIMIT ${listedMax}`,
    );
    this.#delete = db.prepare<{ session_id: string; now: number }>(
      `DELETE FROM guard_turns
       WHERE session_id IN (@session_id, (SELECT former_id FROM sessions WHERE session_id = @session_id))
         AND coalesce((${liveSession('@now')}), ends_at) > @now`,
    );
    this.#deleteAll = db.prepare('DELETE FROM guard_turns');
    this.#sweeps = [
      // If the session of a count has been extended, the count is checked again when the session ends.
      `UPDATE guard_turns SET ends_at = (${liveSession('@now')}), look_at = (${liveSession('@now')})
       WHERE session_id IN
         (SELECT session_id FROM guard_turns WHERE look_at <= @now AND EXISTS (${liveSession('@now')}) LIMIT @bite)`,
      `UPDATE guard_turns SET look_at = ends_at WHERE session_id IN
         (SELECT session_id FROM guard_turns WHERE look_at <= @now AND ends_at > @now LIMIT @bite)`,
      `DELETE FROM guard_turns WHERE session_id IN
         (SELECT session_id FROM guard_turns
          WHERE look_at <= @now AND ends_at <= @now AND NOT EXISTS (${liveSession('@now')}) LIMIT @bite)`,
    ].map((sql) => db.prepare<{ now: number; bite: number }>(sql));
  }

  find(session_id: string, now: number): FoundTurns {
    const row = this.#unsaved.get(session_id) ?? this.#row.get(session_id) ?? null;
    const session_ends_at = this.#sessionEnd.get({ session_id, now }) ?? null;
    if (!row) return { turns: null, row, session_ends_at };
    const { look_at: _, ...turns } = row;
    const ends_at = session_ends_at ?? row.ends_at;
    return { turns: ends_at > now ? { ...turns, ends_at } : null, row, session_ends_at };
  }

  /**
   * Stores a count. If it ends earlier than the previous count, the session is ended at that earlier time, too.
   * @param before the current result of `find`.
   */
  put(session_id: string, turns: SessionTurns, before: FoundTurns): void {
    const { row, session_ends_at } = before;
    if (!row) {
      const ends_at = session_ends_at ?? turns.ends_at;
      this.#unsaved.set(session_id, { ...turns, ends_at, look_at: turns.ends_at });
      return;
    }
    if (before.turns && turns.ends_at < before.turns.ends_at) this.#shortened.set(session_id, turns.ends_at);
    this.#unsaved.set(session_id, { ...turns, look_at: row.look_at });
  }

  giveBack(session_id: string): void {
    this.save();
    this.#giveBack.run(session_id);
  }

  /** Ends the count at this time if it would end later. */
  endEarlier(session_id: string, ends_at: number): void {
    this.save();
    this.#endEarlier.run({ session_id, ends_at });
  }

  /** Sessions with blocked messages, latest end first. */
  list(now: number): (SessionTurns & { session_id: string })[] {
    return this.#list.all({ now });
  }

  /** Deletes the count of a session, which is named by one of its two ids. False if there is none. */
  delete(session_id: string, now: number): boolean {
    this.save();
    return this.#delete.run({ session_id, now }).changes > 0;
  }

  deleteAll(): void {
    this.load();
    this.#deleteAll.run();
  }

  /** Checks at most `bite` rows whose `look_at` has passed. @returns the number of changed rows. */
  deleteExpired(bite: number, now: number): number {
    this.save();
    return this.#sweeps.reduce((sum, sweep) => sum + sweep.run({ now, bite: bite - sum }).changes, 0);
  }

  load(): void {
    this.#unsaved.clear();
    this.#shortened.clear();
  }

  /**
   * Writes the counts that are not saved yet, within a commit. Call it also before a statement that reads or changes
   * the table, or deletes a session (which fires a trigger).
   */
  save(): void {
    for (const [session_id, row] of this.#unsaved) this.#upsert.run({ ...row, session_id });
    for (const [session_id, ends_at] of this.#shortened) {
      this.#lookEarlier.run({ session_id, ends_at });
      this.#endSessionEarlier.run({ session_id, ends_at });
    }
    this.load();
  }
}
