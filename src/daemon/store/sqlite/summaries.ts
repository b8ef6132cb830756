import type Database from 'better-sqlite3';
import { type Clock, randomSuffix } from '../../time/clock.ts';
import type { Summary, SummaryStore } from '../summaries.ts';
import type { SqliteSessions } from './sessions.ts';
import { type GroupCommit, read } from './writer.ts';

/** Approximate size of a row without its text, bytes. */
const ROW_BYTES = 100;

type SummaryRow = Omit<Summary, 'tainted'> & { tainted: 0 | 1 };

/** Summaries, one row for each principal of a session. They are deleted with the row of the session. */
export class SqliteSummaries implements SummaryStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #sessions: SqliteSessions;
  readonly #find;
  readonly #underWay;
  readonly #begin;
  readonly #end;
  readonly #put;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock, sessions: SqliteSessions) {
    this.#commit = commit;
    this.#clock = clock;
    this.#sessions = sessions;
    this.#find = db.prepare<[number, string], SummaryRow>(
      'SELECT principal, text, tainted, through_turn, through_at FROM summaries WHERE session = ? AND principal = ?',
    );
    this.#underWay = db
      .prepare<[number, number], string>('SELECT owner FROM summarizing WHERE session = ? AND expires_at > ?')
      .pluck();
    this.#begin = db.prepare<[number, string, number]>(
      'INSERT OR REPLACE INTO summarizing (session, owner, expires_at) VALUES (?, ?, ?)',
    );
    this.#end = db.prepare<[number]>('DELETE FROM summarizing WHERE session = ?');
    this.#put = db.prepare<SummaryRow & { session: number }>(
      `INSERT OR REPLACE INTO summaries (session, principal, text, tainted, through_turn, through_at)
       VALUES (@session, @principal, @text, @tainted, @through_turn, @through_at)`,
    );
  }

  find(session_tag: string, principal: string): Promise<Summary | null> {
    return read(() => {
      const session = this.#sessions.liveId(session_tag);
      const row = session === null ? undefined : this.#find.get(session, principal);
      return row ? { ...row, tainted: row.tainted === 1 } : null;
    });
  }

  begin(session_tag: string, ttl_ms: number): Promise<string | null> {
    return this.#commit.write(() => {
      const session = this.#sessions.liveId(session_tag);
      const now = this.#clock.now();
      if (session === null || this.#underWay.get(session, now) !== undefined) return null;
      const owner = randomSuffix();
      this.#begin.run(session, owner, now + ttl_ms);
      return owner;
    });
  }

  keep(session_tag: string, token: string, summary: Summary): Promise<boolean> {
    return this.#commit.write(() => {
      const session = this.#sessions.liveId(session_tag);
      if (session === null || this.#underWay.get(session, this.#clock.now()) !== token) return false;
      const before = this.#find.get(session, summary.principal);
      this.#put.run({ session, ...summary, tainted: summary.tainted ? 1 : 0 });
      this.#end.run(session);
      this.#sessions.grow(session, bytesOf(summary) - (before ? bytesOf(before) : 0));
      return true;
    });
  }
}

function bytesOf({ principal, text }: Pick<Summary, 'principal' | 'text'>): number {
  return ROW_BYTES + Buffer.byteLength(principal) + Buffer.byteLength(text);
}
