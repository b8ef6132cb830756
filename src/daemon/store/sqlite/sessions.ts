import type Database from 'better-sqlite3';
import { type Session, type StoredTurn, tagOf } from '../../session/session.ts';
import type { Clock } from '../../time/clock.ts';
import type { SessionClaim } from '../claims.ts';
import type { HistoryReader, SaveOutcome, SessionStore } from '../sessions.ts';
import type { AnonymousBytes, AnonymousRows, ClientSize, IdleRow } from './anonymous-bytes.ts';
import { Claims } from './claims.ts';
import type { ErasedIds } from './erased-ids.ts';
import type { GuardTurns } from './guard-turns.ts';
import type { PendingActions } from './pending-actions.ts';
import { rowOf, SESSION_COLUMNS, type SessionRow, sessionOf } from './session-row.ts';
import type { InsertedTrace } from './traces.ts';
import { TurnChain } from './turn-chain.ts';
import { type GroupCommit, read } from './writer.ts';

/** The part of a session's row that leads to its turns. */
interface Chained {
  id: number;
  /** The tag of the session. */
  tag: string;
  last_turn: number | null;
}

const CHAINED = 'id, coalesce(former_id, session_id) AS tag, last_turn';
/** Finds a session by its current id, or by the id before sign-in. */
const NAMED = '(session_id = @name OR former_id = @name)';

/** Approximate size of a row and its index entries without its texts, bytes. */
const SESSION_BYTES = 600;
const TURN_BYTES = 500;

export interface SessionParts {
  anonymous: AnonymousBytes;
  /** The counts that end with a session. */
  counts: GuardTurns;
  pending: PendingActions;
  erased: ErasedIds;
}

/** Sessions and their turns, with the claims of sessions in memory. */
export class SqliteSessions implements SessionStore, AnonymousRows {
  readonly #clock: Clock;
  readonly #commit: GroupCommit;
  /** The claims of sessions, each with the time at which it was taken, ms since the epoch. */
  readonly #claims: Claims<number>;
  readonly #counts: GuardTurns;
  readonly #pending: PendingActions;
  readonly #erased: ErasedIds;
  readonly #anonymous: AnonymousBytes;
  readonly #chain: TurnChain;
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #slide;
  readonly #lookEarlier;
  readonly #setLastTurn;
  readonly #list;
  readonly #live;
  readonly #expired;
  readonly #reserved;
  readonly #over;
  readonly #chained;
  readonly #sizeOf;
  readonly #sizes;
  readonly #longestIdle;
  readonly #grow;
  readonly #delete;
  readonly #postpone;

  constructor(
    db: Database.Database,
    commit: GroupCommit,
    clock: Clock,
    { counts, pending, erased, anonymous }: SessionParts,
  ) {
    this.#clock = clock;
    this.#commit = commit;
    this.#claims = new Claims(commit, clock);
    this.#counts = counts;
    this.#pending = pending;
    this.#erased = erased;
    this.#chain = new TurnChain(db);
    this.#anonymous = anonymous;
    anonymous.include(this);
    this.#sizes = db.prepare<[], ClientSize>(
      'SELECT client, sum(bytes) AS bytes FROM sessions WHERE client IS NOT NULL GROUP BY client',
    );
    this.#longestIdle = db.prepare<[string, number], IdleRow>(
      `SELECT id, last_active_at AS idle_since FROM sessions WHERE client = ? ORDER BY last_active_at, id LIMIT ?`,
    );
    this.#find = db.prepare<{ name: string; now: number }, SessionRow>(
      `SELECT ${SESSION_COLUMNS} FROM sessions WHERE ${NAMED} AND expires_at > @now`,
    );
    this.#insert = db.prepare<SessionRow>(
      `INSERT INTO sessions (${SESSION_COLUMNS}, look_at, bytes)
       VALUES (@session_id, @former_id, @user_id, @platform, @space, @generated, @owner, @bound_user_id,
         @bound_person, @turns, @created_at, @last_active_at, @expires_at, @metadata, @client, @expires_at,
         ${SESSION_BYTES})`,
    );
    this.#update = db.prepare<SessionRow & { name: string; now: number }>(
      `UPDATE sessions SET session_id = @session_id, former_id = @former_id, user_id = @user_id,
         platform = @platform, space = @space, generated = @generated,
         owner = @owner, bound_user_id = @bound_user_id, bound_person = @bound_person, turns = @turns,
         created_at = @created_at, last_active_at = @last_active_at, expires_at = @expires_at, metadata = @metadata,
         client = @client
       WHERE ${NAMED} AND expires_at > @now`,
    );
    this.#live = db.prepare<
      { name: string; now: number },
      Chained & { expires_at: number; client: string | null }
    >(`SELECT ${CHAINED}, expires_at, client FROM sessions WHERE ${NAMED} AND expires_at > @now`);
    this.#slide = db.prepare<{
      id: number;
      last_turn: number | bigint;
      now: number;
      expires_at: number;
      bytes: number;
    }>(
      `UPDATE sessions SET turns = turns + 1, last_turn = @last_turn, last_active_at = @now,
         expires_at = @expires_at, bytes = bytes + @bytes WHERE id = @id`,
    );
    this.#lookEarlier = db.prepare<{ name: string }>(
      `UPDATE sessions SET look_at = expires_at WHERE ${NAMED} AND look_at > expires_at`,
    );
    this.#setLastTurn = db.prepare<[number | bigint | null, number]>(
      'UPDATE sessions SET last_turn = ? WHERE id = ?',
    );
    this.#list = db.prepare<
      { platform: string | null; user_id: string | null; limit: number; now: number },
      SessionRow
    >(
      `SELECT ${SESSION_COLUMNS} FROM sessions
       WHERE expires_at > @now AND (@platform IS NULL OR platform = @platform) AND (@user_id IS NULL OR user_id = @user_id)
       ORDER BY last_active_at DESC, id DESC LIMIT @limit`,
    );
    this.#expired = db.prepare<{ name: string; now: number }, Chained>(
      `SELECT ${CHAINED} FROM sessions WHERE ${NAMED} AND expires_at <= @now`,
    );
    this.#reserved = db.prepare<[string], unknown>('SELECT 1 FROM sessions WHERE former_id = ?');
    this.#over = db.prepare<{ now: number; bite: number }, Chained>(
      `SELECT ${CHAINED} FROM sessions WHERE look_at <= @now AND expires_at <= @now LIMIT @bite`,
    );
    this.#chained = db.prepare<[number], Chained>(`SELECT ${CHAINED} FROM sessions WHERE id = ?`);
    this.#sizeOf = db.prepare<{ name: string }, { client: string | null; bytes: number }>(
      `SELECT client, bytes FROM sessions WHERE ${NAMED}`,
    );
    this.#grow = db
      .prepare<[number, number], string | null>(
        'UPDATE sessions SET bytes = bytes + ? WHERE id = ? RETURNING client',
      )
      .pluck();
    this.#delete = db.prepare<[number], { client: string | null; bytes: number }>(
      'DELETE FROM sessions WHERE id = ? RETURNING client, bytes',
    );
    this.#postpone = db.prepare<{ now: number; bite: number }>(
      `UPDATE sessions SET look_at = expires_at WHERE id IN
         (SELECT id FROM sessions WHERE look_at <= @now AND expires_at > @now LIMIT @bite)`,
    );
  }

  find(session_id: string): Promise<Session | null> {
    return read(() => {
      const row = this.#find.get({ name: session_id, now: this.#clock.now() });
      return row ? sessionOf(row) : null;
    });
  }

  async claim(session_tag: string): Promise<SessionClaim | null> {
    const owner = this.#claims.take(session_tag, this.#clock.now());
    return owner === null ? null : { session_tag, owner };
  }

  renew(claim: SessionClaim): Promise<boolean> {
    return read(() => this.holds(claim) && this.#claims.renew(claim.session_tag, claim.owner));
  }

  async release({ session_tag, owner }: SessionClaim): Promise<void> {
    this.#claims.release(session_tag, owner);
  }

  save(claim: SessionClaim, session: Session, as: 'new' | 'changed' | 'replaced'): Promise<SaveOutcome> {
    return this.#commit.write(() => {
      if (!this.holds(claim)) return 'lost';
      expectTagOf(session, claim);
      if (as === 'changed') return this.#change(session) ? 'saved' : 'ended';
      if (as === 'replaced') this.#deleteLive(session.session_id);
      this.add(claim, session);
      return 'saved';
    });
  }

  /**
   * Whether the claim still belongs to its owner. The claim also ends when its session is erased. An administrator's
   * process erases sessions and cannot report this to the daemon, so the store is checked.
   */
  holds({ session_tag, owner }: SessionClaim): boolean {
    if (!this.#claims.holds(session_tag, owner)) return false;
    return !this.#erased.hasSince(session_tag, this.#claims.detailOf(session_tag) ?? 0);
  }

  /** Within a commit: ends the claim, which the caller has checked. */
  endClaim({ session_tag }: SessionClaim): void {
    this.#claims.end(session_tag);
  }

  /** Within a commit: stores a new session. An expired session with the same id is deleted first. */
  add(claim: SessionClaim, session: Session): void {
    expectTagOf(session, claim);
    const expired = this.#expired.all({ name: tagOf(session), now: this.#clock.now() });
    for (const before of expired) this.#deleteWhole(before);
    if (this.#reserved.get(session.session_id)) {
      throw new Error('the id of the new session is the former id of another session');
    }
    const row = rowOf(session);
    this.#insert.run(row);
    this.#anonymous.add(row.client, SESSION_BYTES);
  }

  /**
   * Within a commit: adds a turn to a session, and sets the end of the session to `ttl_ms` from now. False if the
   * session has ended.
   * @param trace the trace of the turn.
   */
  addTurn(session_tag: string, turn: StoredTurn, trace: InsertedTrace, ttl_ms: number): boolean {
    const now = this.#clock.now();
    const session = this.#live.get({ name: session_tag, now });
    if (!session) return false;
    const { id, tag, last_turn, client } = session;
    const inserted = this.#chain.insert(id, last_turn, turn, trace);
    const expires_at = now + ttl_ms;
    const bytes = TURN_BYTES + inserted.bytes + trace.bytes;
    this.#slide.run({ id, last_turn: inserted.id, now, expires_at, bytes });
    this.#anonymous.add(client, bytes);
    if (expires_at < session.expires_at) {
      // The session now ends earlier than before, so the sweeper and the count of turns must use the new end.
      this.#lookEarlier.run({ name: session_tag });
      this.#counts.endEarlier(tag, expires_at);
    }
    return true;
  }

  history(session_id: string, reader: HistoryReader, limit: number): Promise<StoredTurn[]> {
    return read(() => this.#chain.history(session_id, this.#clock.now(), reader, limit));
  }

  turns(session_id: string): Promise<StoredTurn[]> {
    return read(() => this.#chain.turns(session_id, this.#clock.now()));
  }

  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]> {
    const { platform = null, user_id = null, limit } = filter;
    return read(() => this.#list.all({ platform, user_id, limit, now: this.#clock.now() }).map(sessionOf));
  }

  end(session_id: string): Promise<boolean> {
    return this.#commit.write(() => this.#deleteLive(session_id));
  }

  /**
   * The id of the row of the session that has this id, or had it before sign-in. Null if there is none or it has
   * expired.
   */
  liveId(name: string): number | null {
    return this.#live.get({ name, now: this.#clock.now() })?.id ?? null;
  }

  /** Within a commit: counts other data that belongs to a session, by adding this many bytes to the session's size. */
  grow(id: number, bytes: number): void {
    this.#anonymous.add(this.#grow.get(bytes, id) ?? null, bytes);
  }

  /**
   * Within a commit: deletes at most `bite` rows of expired sessions, turns first. @returns the number of deleted rows,
   * and of sessions that have been extended and are checked again later.
   */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    let left = bite - this.#postpone.run({ now, bite }).changes;
    for (const session of this.#over.all({ now, bite: left })) {
      if (left === 0) break;
      const { deleted, last_turn } = this.#chain.deleteNewest(session.last_turn, left);
      left -= deleted;
      if (last_turn === null && left > 0) {
        this.#deleteRow(session);
        left--;
      } else if (deleted > 0) this.#setLastTurn.run(last_turn, session.id);
    }
    return bite - left;
  }

  /** Changes a stored session. False if the session has ended. */
  #change(session: Session): boolean {
    const name = tagOf(session);
    if (session.owner !== null && session.client !== undefined) this.#leaveAnonymity(name);
    const { changes } = this.#update.run({ ...rowOf(session), name, now: this.#clock.now() });
    this.#lookEarlier.run({ name });
    return changes > 0;
  }

  #deleteLive(name: string): boolean {
    const session = this.#live.get({ name, now: this.#clock.now() });
    if (session) this.#deleteWhole(session);
    return session !== undefined;
  }

  #deleteWhole(session: Chained): void {
    this.#chain.deleteNewest(session.last_turn, Number.POSITIVE_INFINITY);
    this.#deleteRow(session);
  }

  #deleteRow({ id, tag }: Chained): void {
    this.#counts.save();
    this.#pending.withdraw({ session_tag: tag });
    const { client = null, bytes = 0 } = this.#delete.get(id) ?? {};
    this.#anonymous.add(client, -bytes);
  }

  sizes(): Iterable<ClientSize> {
    return this.#sizes.iterate();
  }

  longestIdle(client: string, limit: number): readonly IdleRow[] {
    return this.#longestIdle.all(client, limit);
  }

  /** Deletes a session with the traces of its turns. @returns the number of deleted rows. */
  evict(id: number): number {
    const session = this.#chained.get(id);
    if (!session) return 0;
    // One row for each turn, one for its trace, and one for the session.
    const rows = 2 * this.#chain.deleteTraces(session.last_turn) + 1;
    this.#deleteWhole(session);
    return rows;
  }

  /** Stops counting a session as anonymous, because it gets an owner. */
  #leaveAnonymity(name: string): void {
    const { client = null, bytes = 0 } = this.#sizeOf.get({ name }) ?? {};
    this.#anonymous.add(client, -bytes);
  }
}

/** @throws if the claim does not belong to the session. */
function expectTagOf(session: Session, { session_tag }: SessionClaim): void {
  if (tagOf(session) !== session_tag) throw new Error('a session can only be written under its own claim');
}
