import type Database from 'better-sqlite3';
import type { Session, StoredTurn } from '../../session/session.ts';
import { rowOf, type SessionRow } from './session-row.ts';
import { turnOf } from './turn-chain.ts';

interface TurnRow {
  id: number;
  previous: number | null;
  turn: string;
}

/** Deletes some turns of a session, or the whole session, within a commit. */
export class PersonTurns {
  readonly #chain;
  readonly #deleteTurn;
  readonly #setPrevious;
  readonly #setLast;
  readonly #untie;
  readonly #deleteSummaries;
  readonly #deleteSession;

  constructor(db: Database.Database) {
    this.#chain = db.prepare<[number], TurnRow>(
      `WITH RECURSIVE chain (id, previous, turn) AS (
         SELECT id, previous, turn FROM turns WHERE id = (SELECT last_turn FROM sessions WHERE id = ?)
         UNION ALL
         SELECT turns.id, turns.previous, turns.turn FROM chain CROSS JOIN turns ON turns.id = chain.previous)
       SELECT id, previous, turn FROM chain`,
    );
    this.#deleteTurn = db.prepare<[number]>('DELETE FROM turns WHERE id = ?');
    this.#setPrevious = db.prepare<[number | null, number]>('UPDATE turns SET previous = ? WHERE id = ?');
    this.#setLast = db.prepare<[number | null, number]>('UPDATE sessions SET last_turn = ? WHERE id = ?');
    this.#untie = db.prepare<SessionRow & { id: number }>(
      `UPDATE sessions SET user_id = @user_id, owner = @owner, bound_user_id = @bound_user_id,
         bound_person = @bound_person, metadata = @metadata, client = @client WHERE id = @id`,
    );
    this.#deleteSummaries = db.prepare<[number]>('DELETE FROM summaries WHERE session = ?');
    this.#deleteSession = db.prepare<[number]>('DELETE FROM sessions WHERE id = ?');
  }

  /** The turns of a session, oldest first. @param session the id of its row. */
  of(session: number): StoredTurn[] {
    return this.#rows(session).map(({ turn }) => turnOf(turn));
  }

  deleteAll(session: number): void {
    for (const { id } of this.#rows(session)) this.#deleteTurn.run(id);
    this.#deleteSession.run(session);
  }

  /**
   * Deletes turns of a session and links the remaining turns into a chain again. Summaries may contain deleted text, so
   * they are deleted, too, and made again later.
   */
  deleteFrom(session: number, turns: readonly StoredTurn[], untied: Session): void {
    const deleted = new Set(turns.map(({ turn_id }) => turn_id));
    let previous: number | null = null;
    for (const row of this.#rows(session)) {
      if (deleted.has(turnOf(row.turn).turn_id)) {
        this.#deleteTurn.run(row.id);
        continue;
      }
      if (row.previous !== previous) this.#setPrevious.run(previous, row.id);
      previous = row.id;
    }
    this.#setLast.run(previous, session);
    this.#untie.run({ ...rowOf(untied), id: session });
    this.#deleteSummaries.run(session);
  }

  #rows(session: number): TurnRow[] {
    return this.#chain.all(session).reverse();
  }
}
