import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { PersonKey } from '../../identity/identity.ts';
import type { Session, SessionStore, StoredTurn, TraceRecord } from '../store.ts';
import type { SqliteTraces } from './traces.ts';
import { type GroupCommit, read } from './writer.ts';

/** A session as its table holds it. */
interface SessionRow {
  session_id: string;
  user_id: string;
  platform: string;
  space: string;
  generated: 0 | 1;
  owner: PersonKey | null;
  bound_user_id: string | null;
  bound_person: PersonKey | null;
  turns: number;
  created_at: number;
  last_active_at: number;
  expires_at: number;
  metadata: string;
}

const COLUMNS = `session_id, user_id, platform, space, generated, owner, bound_user_id, bound_person,
  turns, created_at, last_active_at, expires_at, metadata`;

/** Sessions and their turns. A session whose time has passed is treated as none, whether deleted yet or not. */
export class SqliteSessions implements SessionStore {
  readonly #clock: Clock;
  readonly #commit: GroupCommit;
  readonly #traces: SqliteTraces;
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #slide;
  readonly #insertTurn;
  readonly #history;
  readonly #turns;
  readonly #list;
  readonly #delete;
  readonly #deleteIfExpired;
  readonly #deleteExpiredTurns;
  readonly #deleteExpiredSessions;

  constructor(db: Database.Database, commit: GroupCommit, traces: SqliteTraces, clock: Clock) {
    this.#clock = clock;
    this.#commit = commit;
    this.#traces = traces;
    this.#find = db.prepare<[string, number], SessionRow>(
      `SELECT ${COLUMNS} FROM sessions WHERE session_id = ? AND expires_at > ?`,
    );
    this.#insert = db.prepare<SessionRow>(
      `INSERT INTO sessions (${COLUMNS})
       VALUES (@session_id, @user_id, @platform, @space, @generated, @owner, @bound_user_id, @bound_person,
         @turns, @created_at, @last_active_at, @expires_at, @metadata)`,
    );
    this.#update = db.prepare<SessionRow & { now: number }>(
      `UPDATE sessions SET user_id = @user_id, platform = @platform, space = @space, generated = @generated,
         owner = @owner, bound_user_id = @bound_user_id, bound_person = @bound_person, turns = @turns,
         created_at = @created_at, last_active_at = @last_active_at, expires_at = @expires_at, metadata = @metadata
       WHERE session_id = @session_id AND expires_at > @now`,
    );
    this.#slide = db
      .prepare<{ session_id: string; now: number; expires_at: number }, number>(
        `UPDATE sessions SET turns = turns + 1, last_active_at = @now, expires_at = @expires_at
         WHERE session_id = @session_id AND expires_at > @now RETURNING id`,
      )
      .pluck();
    this.#insertTurn = db.prepare<[number, PersonKey | null, 0 | 1, string]>(
      `INSERT INTO turns (session, person, answered, turn) VALUES (?, ?, ?, ?)`,
    );
    // `+?`: SQLite would plan these anew, at three times their cost, whenever a bare parameter is bound.
    const turnsOf = `FROM sessions JOIN turns ON turns.session = sessions.id
      WHERE session_id = +? AND expires_at > +?`;
    this.#history = db
      .prepare<[string, number, PersonKey | null, number], string>(
        `SELECT turn ${turnsOf} AND answered AND (person IS NULL OR person = +?) ORDER BY turns.id DESC LIMIT +?`,
      )
      .pluck();
    this.#turns = db.prepare<[string, number], string>(`SELECT turn ${turnsOf} ORDER BY turns.id`).pluck();
    this.#list = db.prepare<
      { platform: string | null; user_id: string | null; limit: number; now: number },
      SessionRow
    >(
      `SELECT ${COLUMNS} FROM sessions
       WHERE expires_at > @now AND (@platform IS NULL OR platform = @platform) AND (@user_id IS NULL OR user_id = @user_id)
       ORDER BY last_active_at DESC, id DESC LIMIT @limit`,
    );
    this.#delete = db.prepare<[string, number]>(
      `DELETE FROM sessions WHERE session_id = ? AND expires_at > ?`,
    );
    this.#deleteIfExpired = db.prepare<[string, number]>(
      `DELETE FROM sessions WHERE session_id = ? AND expires_at <= ?`,
    );
    this.#deleteExpiredTurns = db.prepare<[number, number]>(
      `DELETE FROM turns WHERE id IN
         (SELECT turns.id FROM sessions JOIN turns ON turns.session = sessions.id WHERE expires_at <= ? LIMIT ?)`,
    );
    this.#deleteExpiredSessions = db.prepare<[number, number]>(
      `DELETE FROM sessions WHERE id IN
         (SELECT id FROM sessions
          WHERE expires_at <= ? AND NOT EXISTS (SELECT 1 FROM turns WHERE session = sessions.id) LIMIT ?)`,
    );
  }

  find(session_id: string): Promise<Session | null> {
    return read(() => {
      const row = this.#find.get(session_id, this.#clock.now());
      return row ? sessionOf(row) : null;
    });
  }

  save(session: Session, expect: 'new' | 'changed'): Promise<boolean> {
    return this.#commit.write(() => {
      const now = this.#clock.now();
      if (expect === 'changed') return this.#update.run({ ...rowOf(session), now }).changes > 0;
      this.#deleteIfExpired.run(session.session_id, now);
      this.#insert.run(rowOf(session));
      return true;
    });
  }

  keepTurn(session_id: string, turn: StoredTurn, trace: TraceRecord, ttl_ms: number): Promise<boolean> {
    return this.#commit.write(() => {
      this.#traces.insert(trace);
      const now = this.#clock.now();
      const id = this.#slide.get({ session_id, now, expires_at: now + ttl_ms });
      if (id === undefined) return false;
      this.#insertTurn.run(id, turn.person, turn.outcome === 'answered' ? 1 : 0, JSON.stringify(turn));
      return true;
    });
  }

  history(session_id: string, reader: PersonKey | null, limit: number): Promise<StoredTurn[]> {
    return read(() => this.#history.all(session_id, this.#clock.now(), reader, limit).reverse().map(turnOf));
  }

  turns(session_id: string): Promise<StoredTurn[]> {
    return read(() => this.#turns.all(session_id, this.#clock.now()).map(turnOf));
  }

  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]> {
    const { platform = null, user_id = null, limit } = filter;
    return read(() => this.#list.all({ platform, user_id, limit, now: this.#clock.now() }).map(sessionOf));
  }

  end(session_id: string): Promise<boolean> {
    return this.#commit.write(() => this.#delete.run(session_id, this.#clock.now()).changes > 0);
  }

  /** Within a commit: deletes at most `bite` rows of expired sessions, turns first. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    const turns = this.#deleteExpiredTurns.run(now, bite).changes;
    return turns + this.#deleteExpiredSessions.run(now, bite - turns).changes;
  }
}

function rowOf({ generated, bound, metadata, ...session }: Session): SessionRow {
  return {
    ...session,
    generated: generated ? 1 : 0,
    bound_user_id: bound?.user_id ?? null,
    bound_person: bound?.person ?? null,
    metadata: JSON.stringify(metadata),
  };
}

function sessionOf({ generated, bound_user_id, bound_person, metadata, ...row }: SessionRow): Session {
  return {
    ...row,
    generated: generated === 1,
    bound:
      bound_user_id === null || bound_person === null
        ? null
        : { user_id: bound_user_id, person: bound_person },
    metadata: JSON.parse(metadata) as Session['metadata'],
  };
}

function turnOf(json: string): StoredTurn {
  return JSON.parse(json) as StoredTurn;
}
