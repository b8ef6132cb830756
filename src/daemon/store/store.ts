import type { ActionStore } from './actions.ts';
import type { AuditStore } from './audit.ts';
import type { BudgetStore } from './budgets.ts';
import type { SessionClaim } from './claims.ts';
import type { GuardStore } from './guard.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { InboxStore } from './inbox.ts';
import type { LimitStore } from './limits.ts';
import type { LinkStore } from './links.ts';
import type { MemoryStore } from './memories.ts';
import type { OutageStore } from './outages.ts';
import type { PersonStore } from './persons.ts';
import type { ReplicaStore } from './replicas.ts';
import type { SessionStore } from './sessions.ts';
import type { StoredToken } from './stored-tokens.ts';
import type { StreamStore } from './streams.ts';
import type { SummaryStore } from './summaries.ts';
import type { ToolDigestStore } from './tool-digests.ts';
import type { TraceStore } from './traces.ts';
import type { BegunTurn, CommitOutcome, TurnChanges } from './turns.ts';

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
  readonly actions: ActionStore;
  readonly audit: AuditStore;
  readonly traces: TraceStore;
  readonly limits: LimitStore;
  readonly budgets: BudgetStore;
  readonly summaries: SummaryStore;
  readonly guard: GuardStore;
  readonly idempotency: IdempotencyStore;
  readonly inbox: InboxStore;
  readonly links: LinkStore;
  /** Null: the backend keeps none (agentd-settings(5), `MEMORY_BACKEND`). */
  readonly memories: MemoryStore | null;
  readonly outages: OutageStore;
  /** Null: the backend cannot find what it stores of one person. */
  readonly persons: PersonStore | null;
  readonly streams: StreamStore;
  readonly toolDigests: ToolDigestStore;
  /**
   * Claims a session as `SessionStore.claim` does, and reads what its turn begins with: one step. Null while another
   * caller's claim is valid.
   * @param session_id as the message names the session.
   * @param turn_key of the message; null: no earlier run of it can have done anything.
   */
  beginTurn(session_tag: string, session_id: string, turn_key: string | null): Promise<BegunTurn | null>;
  /**
   * Stores everything that a turn changes: all of it or nothing, durable when it resolves. Refused as a whole, `lost`,
   * if the session's claim or any claim named in the changes is gone. The session's claim stays until it is released,
   * unless the changes end it.
   */
  commitTurn(claim: SessionClaim, changes: TurnChanges): Promise<CommitOutcome>;
  /** The daemons that share the store; null if one at a time uses it. */
  readonly replicas: ReplicaStore | null;
  /** What the daemon warns of at its start, a sentence each: how the server behind the store is set up. */
  advice(): Promise<readonly string[]>;
  /** What the store holds, by kind, for `agentd doctor`; null: it is examined otherwise. Bounded work. */
  census(): Promise<KeyCensus | null>;
  /** Deletion of what has expired, examination, backup: null if the backend needs none of it. */
  readonly maintenance: StoreMaintenance | null;
  /** Whether the store can be written now, as far as is known without writing. Cheap: asked at every probe. */
  condition(): StoreCondition;
  /** @throws StoreFull if the volume has too little space left for another message and its answer. */
  expectRoom(): void;
  /** Resolves if the store can be written: it writes. */
  check(): Promise<void>;
  /**
   * How many live tokens, of links, sessions and streams, and how many actions are stored with a value that begins like
   * this.
   */
  countTokens(prefix: string): Promise<number>;
  /**
   * How many live tokens and texts of actions each key has sealed, by the mark that they begin with (seal.ts); unsealed
   * ones are counted under ''. Reads everything.
   */
  countSeals(): Promise<ReadonlyMap<string, number>>;
  /**
   * The live tokens of links, sessions and streams, and the texts of actions, that do not begin like this, in bounded
   * bites.
   */
  storedTokens(unlike: string): AsyncIterable<readonly StoredToken[]>;
  /** Stores another value of a token or text; atomic. False if it was replaced or deleted meanwhile. */
  replaceToken(token: StoredToken, value: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface KeyCensus {
  /** By kind: how many keys there are, and how many of them should expire and never do. */
  kinds: ReadonlyMap<string, { keys: number; endless: number }>;
  /** False: there are more keys than were looked at. */
  isWhole: boolean;
}

export interface StoreMaintenance {
  /** Looks for damage, by reading everything. @returns what is wrong, in words; empty if it is sound. */
  examine(): Promise<readonly string[]>;
  /**
   * Deletes what has expired and gives free space back to the file system, in bounded bites. Works on a full disk.
   * The daemon calls it now and then. @returns 0 if nothing is left to do; else how much was done.
   */
  sweep(): Promise<number>;
  /**
   * Copies everything that is stored into a new file, mode 0600, while the daemon runs. After a crash there is the whole
   * copy or none.
   * @throws BackupFailed if the file exists or cannot be written.
   */
  backup(file: string): Promise<void>;
}

export interface StoreCondition {
  /** False if the last write failed, or if so little space is left that new messages are refused. */
  writable: boolean;
  /** The reason, a sentence; null if it can be written. */
  detail: string | null;
}
