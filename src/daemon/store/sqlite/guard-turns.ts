import type Database from 'better-sqlite3';
import type { SessionTurns } from '../../guard/verdict.ts';

/** A count as its row holds it, and when its session ends; null if there is no live session. */
interface TurnsRow extends SessionTurns {
  session_ends_at: number | null;
}

/** The count of a session that is stored. */
export interface StoredTurns {
  /** As `judge` takes it; null if none is stored, or if it has expired. */
  turns: SessionTurns | null;
  /** Whether there is a row, expired or not. */
  has_row: boolean;
}

/**
 * The turns of sessions that the guard has counted, a row each. A count ends with its session; if the session is not
 * stored yet, at a time of its own. All methods but `list` run within a commit.
 */
export class GuardTurns {
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #endSessionEarlier;
  readonly #lookEarlier;
  readonly #giveBack;
  readonly #list;
  readonly #delete;
  readonly #deleteAll;
  readonly #sweeps;

  /** @param listedMax counts that one list returns. */
  constructor(db: Database.Database, listedMax: number) {
    const liveSession = (time: string) =>
      `SELECT expires_at FROM sessions
       WHERE (sessions.session_id = guard_turns.session_id OR former_id = guard_turns.session_id)
         AND expires_at > ${time}`;
    this.#find = db.prepare<[number, string], TurnsRow>(
      `SELECT turns, blocked, max, ends_at, (${liveSession('?')}) AS session_ends_at
       FROM guard_turns WHERE session_id = ?`,
    );
    this.#insert = db.prepare<SessionTurns & { session_id: string; now: number }>(
      `INSERT INTO guard_turns (session_id, turns, blocked, max, ends_at, look_at)
       VALUES (@session_id, @turns, @blocked, @max, coalesce(
         (SELECT expires_at FROM sessions
          WHERE (session_id = @session_id OR former_id = @session_id) AND expires_at > @now), @ends_at), @ends_at)`,
    );
    this.#update = db.prepare<SessionTurns & { session_id: string }>(
      'UPDATE guard_turns SET turns = @turns, blocked = @blocked, max = @max, ends_at = @ends_at WHERE session_id = @session_id',
    );
    this.#endSessionEarlier = db.prepare<{ session_id: string; ends_at: number }>(
      `UPDATE sessions SET expires_at = @ends_at, look_at = min(look_at, @ends_at)
       WHERE (session_id = @session_id OR former_id = @session_id) AND expires_at > @ends_at`,
    );
    this.#lookEarlier = db.prepare<{ session_id: string; ends_at: number }>(
      'UPDATE guard_turns SET look_at = min(look_at, @ends_at) WHERE session_id = @session_id',
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
      // A count whose session goes on is looked at again when that ends.
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

  find(session_id: string, now: number): StoredTurns {
    const row = this.#find.get(now, session_id);
    if (!row) return { turns: null, has_row: false };
    const { session_ends_at, ...turns } = row;
    const ends_at = session_ends_at ?? turns.ends_at;
    return { turns: ends_at > now ? { ...turns, ends_at } : null, has_row: true };
  }

  /**
   * Stores a count. If it ends earlier than the one before, its session ends then, too.
   * @param before as `find` found it.
   */
  put(session_id: string, turns: SessionTurns, before: StoredTurns, now: number): void {
    if (!before.has_row) {
      this.#insert.run({ ...turns, session_id, now });
      return;
    }
    this.#update.run({ ...turns, session_id });
    const { ends_at } = turns;
    if (before.turns === null || before.turns.ends_at <= ends_at) return;
    this.#endSessionEarlier.run({ session_id, ends_at });
    this.#lookEarlier.run({ session_id, ends_at });
  }

  giveBack(session_id: string): void {
    this.#giveBack.run(session_id);
  }

  /** Sessions that messages were blocked in, newest end first. */
  list(now: number): (SessionTurns & { session_id: string })[] {
    return this.#list.all({ now });
  }

  /** Named by either id of the session. False if none are counted. */
  delete(session_id: string, now: number): boolean {
    return this.#delete.run({ session_id, now }).changes > 0;
  }

  deleteAll(): void {
    this.#deleteAll.run();
  }

  /** Sees to at most `bite` rows that were to expire by now. @returns how many. */
  deleteExpired(bite: number, now: number): number {
    return this.#sweeps.reduce((sum, sweep) => sum + sweep.run({ now, bite: bite - sum }).changes, 0);
  }
}
