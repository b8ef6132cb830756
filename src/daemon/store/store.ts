import type { PersonKey } from '../identity/identity.ts';
import type { TraceRecord } from '../message/trace.ts';
import type { JwtContext, Session, StoredTurn } from '../session/session.ts';

/**
 * The store: one port per concern, in the domain's words. A backend implements all of them, and passes
 * test/contract. All times are the store's clock, ms since the epoch. Every method rejects with
 * `StoreUnavailable` when the store cannot be read or written; what was resolved survives `kill -9`.
 * Nothing may be cached above: administrators write beside a running daemon.
 */
export interface Store {
  /** Which backend, for people: `sqlite /var/lib/agentd/agentd.db`. */
  readonly description: string;
  readonly sessions: SessionStore;
  readonly traces: TraceStore;
  readonly leases: LeaseStore;
  readonly limits: LimitStore;
  readonly idempotency: IdempotencyStore;
  /** Resolves where the store can be written. */
  check(): Promise<void>;
  /** Deletes what has expired, in bounded bites; returns how many rows. Called now and then by the daemon. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export interface SessionStore {
  /** The session, or null where there is none or its time has passed. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Writes a session as it is given, new or changed: whose it is, what is bound. Atomic. Called under the
   * session's lease. A session of that id whose time has passed is deleted first, with its turns.
   * False where `expect` is `changed` and the session has ended meanwhile: nothing is written.
   */
  save(session: Session, expect: 'new' | 'changed'): Promise<boolean>;
  /**
   * Keeps a turn and its trace, counts it, and slides the session's time to `ttl_ms` from now; atomic.
   * False where the session ended meanwhile: then only the trace is kept.
   */
  keepTurn(session_id: string, turn: StoredTurn, trace: TraceRecord, ttl_ms: number): Promise<boolean>;
  /** The last answered turns, oldest first, that `reader` may see: those of nobody, and the reader's own. */
  history(session_id: string, reader: PersonKey | null, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Newest activity first. */
  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]>;
  /** Deletes a session and its turns; the traces stay. False where there was none. */
  end(session_id: string): Promise<boolean>;
}

export interface TraceStore {
  /** Keeps the trace of a request that never had a turn (refused, or failed before its session). */
  keep(trace: TraceRecord): Promise<void>;
  /** Traces whose turn, request, session or message id it is, oldest first; at most 200, the newest. */
  find(id: string): Promise<TraceRecord[]>;
}

/** One holder at a time per key, in order of asking. Keys of this daemon's process die with it. */
export interface LeaseStore {
  /** Resolves when it is this caller's turn; rejects with the signal's reason when aborted before. */
  acquire(key: string, signal: AbortSignal): Promise<Lease>;
}

export interface Lease {
  /** Aborts when the lease was lost (time-out, another took over); writes after that must not happen. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** The one sliding-window primitive: exact, atomic; a refused hit does not count. */
export interface LimitStore {
  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState>;
}

export interface WindowState {
  allowed: boolean;
  /** Hits that are left in the window. */
  remaining: number;
  /** ms until one more hit has room (0 where it has); until all are free again. */
  retry_after_ms: number;
  reset_ms: number;
}

export interface IdempotencyStore {
  /**
   * Claims a key for a request. `new`: it is the caller's to run. A claim whose owner died counts as none.
   * @param fingerprint of the request's body; a known key with another one is `other_body`.
   */
  claim(key: string, fingerprint: string): Promise<Claim>;
  /** Keeps the answer for `ttl_ms`. */
  finish(key: string, answer: StoredAnswer, ttl_ms: number): Promise<void>;
  /** Forgets an unfinished claim, so that the request can be repeated. */
  release(key: string): Promise<void>;
}

export type Claim =
  | { outcome: 'new' }
  | { outcome: 'running' }
  | { outcome: 'other_body' }
  | { outcome: 'done'; answer: StoredAnswer };

export interface StoredAnswer {
  session_id: string;
  response: string;
}

export type { JwtContext, Session, StoredTurn, TraceRecord };
