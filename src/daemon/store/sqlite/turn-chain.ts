import type Database from 'better-sqlite3';
import type { PersonKey } from '../../identity/identity.ts';
import type { StoredTurn } from '../../session/session.ts';
import type { HistoryReader } from '../sessions.ts';
import type { InsertedTrace } from './traces.ts';

/** The turns of a session as a chain: the session's row names the last turn, and each turn names the turn before it. */
export class TurnChain {
  readonly #insert;
  readonly #history;
  readonly #turns;
  readonly #previous;
  readonly #deleteTurn;
  readonly #deleteTraceOf;

  constructor(db: Database.Database) {
    this.#insert = db.prepare<[number, number | null, PersonKey | null, 0 | 1, string, number]>(
      'INSERT INTO turns (session, previous, person, answered, turn, trace) VALUES (?, ?, ?, ?, ?, ?)',
    );
    // `+?` here and in other sorted queries of the message path: if a column of a sorted query is compared with a bare
    // parameter, SQLite plans the query again each time the parameter is bound, at 3 to 20 times the cost of the query.
    const chain = `WITH RECURSIVE chain (previous, person, answered, turn) AS (
        SELECT previous, person, answered, turn FROM turns WHERE id =
          (SELECT last_turn FROM sessions WHERE session_id = +? AND expires_at > +?)
        UNION ALL
        SELECT turns.previous, turns.person, turns.answered, turns.turn
        FROM chain CROSS JOIN turns ON turns.id = chain.previous)
      SELECT turn FROM chain`;
    this.#history = db
      .prepare<[string, number, PersonKey | null, 0 | 1, number], string>(
        `${chain} WHERE answered AND (person IS +? OR (person IS NULL AND +?)) LIMIT +?`,
      )
      .pluck();
    this.#turns = db.prepare<[string, number], string>(chain).pluck();
    this.#previous = db.prepare<[number], number | null>('SELECT previous FROM turns WHERE id = ?').pluck();
    this.#deleteTurn = db.prepare<[number]>('DELETE FROM turns WHERE id = ?');
    // A turn may outlive its trace, and another trace may then get the same id.
    this.#deleteTraceOf = db.prepare<{ turn: number }>(
      `DELETE FROM traces WHERE id = (SELECT trace FROM turns WHERE id = @turn)
         AND turn_id = (SELECT turn ->> 'turn_id' FROM turns WHERE id = @turn)`,
    );
  }

  /**
   * Within a commit: inserts a turn after the last turn.
   * @returns the id of its row, and the size of its JSON in bytes.
   */
  insert(
    session: number,
    last_turn: number | null,
    turn: StoredTurn,
    trace: InsertedTrace,
  ): { id: number | bigint; bytes: number } {
    const answered = turn.outcome === 'answered' ? 1 : 0;
    const json = JSON.stringify(turn);
    const { lastInsertRowid: id } = this.#insert.run(
      session,
      last_turn,
      turn.person,
      answered,
      json,
      trace.id,
    );
    return { id, bytes: Buffer.byteLength(json) };
  }

  /** See `SessionStore.history`. */
  history(session_id: string, now: number, { person, nobodys }: HistoryReader, limit: number): StoredTurn[] {
    return this.#history
      .all(session_id, now, person, nobodys ? 1 : 0, limit)
      .reverse()
      .map(turnOf);
  }

  /** All turns of a live session, oldest first. */
  turns(session_id: string, now: number): StoredTurn[] {
    return this.#turns.all(session_id, now).reverse().map(turnOf);
  }

  /**
   * Within a commit: deletes the newest turns, at most `most`.
   * @returns the number of deleted turns, and the id of the turn that is now the last turn.
   */
  deleteNewest(last_turn: number | null, most: number): { deleted: number; last_turn: number | null } {
    let [deleted, last] = [0, last_turn];
    while (last !== null && deleted < most) {
      const turn: number = last;
      last = this.#previous.get(turn) ?? null;
      this.#deleteTurn.run(turn);
      deleted++;
    }
    return { deleted, last_turn: last };
  }

  /** Within a commit: deletes the traces of all turns of a session. @returns the number of its turns. */
  deleteTraces(last_turn: number | null): number {
    let turns = 0;
    for (let turn = last_turn; turn !== null; turn = this.#previous.get(turn) ?? null) {
      this.#deleteTraceOf.run({ turn });
      turns++;
    }
    return turns;
  }
}

export function turnOf(json: string): StoredTurn {
  return JSON.parse(json) as StoredTurn;
}
