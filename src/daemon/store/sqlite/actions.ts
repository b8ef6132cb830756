import type Database from 'better-sqlite3';
import type { PersonKey } from '../../identity/identity.ts';
import type { Clock } from '../../time/clock.ts';
import type {
  Action,
  ActionFilter,
  ActionOutcome,
  ActionStore,
  NewAction,
  RunClaims,
  WithdrawnActions,
} from '../actions.ts';
import type { SessionClaim } from '../claims.ts';
import type { SqliteIdempotency } from './idempotency.ts';
import type { PendingActions } from './pending-actions.ts';
import type { SqliteSessions } from './sessions.ts';
import { type GroupCommit, read } from './writer.ts';

export const ACTION_COLUMNS = `action_id, session_tag, session_id, platform, user_id, alias_id, person, operator, turn_key, tool, args, summary,
  state, principal, attempt, status, answer, asked_at, expires_at, created_at, started_at, finished_at`;

/** SQL that tests whether the session of an action still exists. Actions name their session by its tag. */
const IN_LIVE_SESSION = `EXISTS (SELECT 1 FROM sessions WHERE sessions.expires_at > @now
  AND (former_id = actions.session_tag OR (former_id IS NULL AND sessions.session_id = actions.session_tag)))`;

export interface ActionsParts {
  clock: Clock;
  /** ACTIONS_RETENTION_DAYS, in ms. */
  retentionMs: number;
  pending: PendingActions;
  /** The parts of the store that check the claims. */
  sessions: Pick<SqliteSessions, 'holds'>;
  idempotency: Pick<SqliteIdempotency, 'holds' | 'remember'>;
}

interface ListFilter {
  person: PersonKey | null;
  platform: string | null;
  user_id: string | null;
  nobodys: 0 | 1;
  session: string | null;
  since: number;
  limit: number;
}

/** The journal of actions, one row each. */
export class SqliteActions implements ActionStore {
  readonly #commit: GroupCommit;
  readonly #parts: ActionsParts;
  readonly #pendingIn;
  readonly #find;
  readonly #settle;
  readonly #insert;
  readonly #restart;
  readonly #finish;
  readonly #ofTurn;
  readonly #list;
  readonly #deleteOldest;

  constructor(db: Database.Database, commit: GroupCommit, parts: ActionsParts) {
    this.#commit = commit;
    this.#parts = parts;
    this.#pendingIn = db.prepare<{ session_tag: string; now: number }, Action>(
      `SELECT ${ACTION_COLUMNS} FROM actions WHERE state = 'pending' AND expires_at > @now AND session_tag = +@session_tag
         AND ${IN_LIVE_SESSION} ORDER BY id`,
    );
    this.#find = db.prepare<[string], Action>(`SELECT ${ACTION_COLUMNS} FROM actions WHERE action_id = ?`);
    this.#settle = db.prepare<{
      action_id: string;
      session_tag: string;
      state: string;
      turn_key: string;
      now: number;
    }>(
      `UPDATE actions SET state = @state, turn_key = @turn_key, attempt = attempt + (@state = 'started'),
         started_at = iif(@state = 'started', @now, NULL), finished_at = iif(@state = 'started', NULL, @now)
       WHERE action_id = @action_id AND session_tag = @session_tag AND state = 'pending' AND expires_at > @now
         AND ${IN_LIVE_SESSION}`,
    );
    this.#insert = db.prepare<NewAction & { now: number }>(
      `INSERT INTO actions (action_id, session_tag, session_id, platform, user_id, alias_id, person, operator, turn_key, tool, args,
         summary, state, attempt, created_at, started_at)
       VALUES (@action_id, @session_tag, @session_id, @platform, @user_id, @alias_id, @person, @operator, @turn_key, @tool, @args,
         @summary, 'started', 1, @now, @now)
       ON CONFLICT (action_id) DO NOTHING`,
    );
    this.#restart = db.prepare<{ action_id: string; attempt: number; now: number }>(
      `UPDATE actions SET state = 'started', attempt = attempt + 1, status = NULL, answer = NULL, started_at = @now,
         finished_at = NULL
       WHERE action_id = @action_id AND attempt = @attempt AND state IN ('started', 'unknown')`,
    );
    this.#finish = db.prepare<ActionOutcome & { action_id: string; attempt: number; now: number }>(
      `UPDATE actions SET state = @state, status = @status, answer = @answer, finished_at = @now
       WHERE action_id = @action_id AND (
         (attempt = @attempt AND state IN ('started', 'unknown')) OR
         (@state = 'done' AND state IN ('started', 'unknown', 'failed')))`,
    );
    this.#ofTurn = db.prepare<[string], Action>(
      `SELECT ${ACTION_COLUMNS} FROM actions WHERE turn_key = +? AND state <> 'pending' ORDER BY id`,
    );
    this.#list = db.prepare<ListFilter, Action>(
      `SELECT ${ACTION_COLUMNS} FROM actions
       WHERE started_at >= @since AND (@person IS NULL OR person = @person)
         AND (@user_id IS NULL OR (user_id = @user_id AND platform = @platform))
         AND (NOT @nobodys OR person IS NULL)
         AND (@session IS NULL OR session_tag = @session OR session_id = @session)
       ORDER BY id DESC LIMIT @limit`,
    );
    this.#deleteOldest = db.prepare<{ expired: number; bite: number }>(
      `DELETE FROM actions WHERE id IN (SELECT id FROM actions ORDER BY id LIMIT @bite) AND created_at <= @expired`,
    );
  }

  pendingIn(session_tag: string): Promise<Action[]> {
    return read(() => this.#pendingIn.all({ session_tag, now: this.#now() }));
  }

  find(action_id: string): Promise<Action | null> {
    return read(() => this.#get(action_id));
  }

  settle(
    claim: SessionClaim,
    action_id: string,
    state: 'started' | 'declined' | 'withdrawn',
    turn_key: string,
  ): Promise<'settled' | 'gone' | 'lost'> {
    return this.#commit.write(() => {
      if (!this.#parts.sessions.holds(claim)) return 'lost';
      const { session_tag } = claim;
      const { changes } = this.#settle.run({ action_id, session_tag, state, turn_key, now: this.#now() });
      return changes > 0 ? 'settled' : 'gone';
    });
  }

  withdraw(of: WithdrawnActions): Promise<void> {
    return this.#commit.write(() => this.#parts.pending.withdraw(of));
  }

  start(claims: RunClaims | null, action: NewAction): ReturnType<ActionStore['start']> {
    return this.#commit.write(() => {
      if (claims !== null && !this.#holds(claims)) return { outcome: 'lost' };
      if (claims?.key) this.#parts.idempotency.remember(claims.key);
      if (this.#insert.run({ ...action, now: this.#now() }).changes > 0) return { outcome: 'started' };
      const known = this.#get(action.action_id);
      if (known === null) throw new Error('the action with this id cannot be found');
      return { outcome: 'known', action: known };
    });
  }

  restart(claims: RunClaims, action_id: string, attempt: number): Promise<'started' | 'gone' | 'lost'> {
    return this.#commit.write(() => {
      if (!this.#holds(claims)) return 'lost';
      const { changes } = this.#restart.run({ action_id, attempt, now: this.#now() });
      return changes > 0 ? 'started' : 'gone';
    });
  }

  finish(action_id: string, attempt: number, outcome: ActionOutcome): Promise<void> {
    return this.#commit.write(() => {
      this.#finish.run({ ...outcome, action_id, attempt, now: this.#now() });
    });
  }

  ofTurn(turn_key: string): Promise<Action[]> {
    return read(() => this.#ofTurn.all(turn_key));
  }

  list({ who, session, since, limit }: ActionFilter): Promise<Action[]> {
    const of = who === undefined || 'person' in who ? { person: who?.person } : who;
    const {
      person = null,
      platform = null,
      user_id = null,
      nobodys = false,
    } = of as Partial<{ person: PersonKey } & { platform: string; user_id: string; nobodys: boolean }>;
    const filter = { person, platform, user_id, nobodys: nobodys ? 1 : 0 } as const;
    const bounds = { session: session ?? null, since: since ?? 0, limit };
    return read(() => this.#list.all({ ...filter, ...bounds }));
  }

  /** Within a commit: deletes at most `bite` records that are too old. @returns the number of deleted records. */
  deleteExpired(bite: number): number {
    return this.#deleteOldest.run({ expired: this.#now() - this.#parts.retentionMs, bite }).changes;
  }

  #get(action_id: string): Action | null {
    const found = this.#find.get(action_id);
    return found === undefined ? null : this.#asItIsNow(found);
  }

  #asItIsNow(action: Action): Action {
    const isOver = action.state === 'pending' && (action.expires_at ?? 0) <= this.#now();
    return isOver ? { ...action, state: 'expired' } : action;
  }

  #holds({ session, key }: RunClaims): boolean {
    const { sessions, idempotency } = this.#parts;
    return sessions.holds(session) && (key === null || idempotency.holds(key));
  }

  #now(): number {
    return this.#parts.clock.now();
  }
}
