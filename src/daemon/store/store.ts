import type { GuardStore } from './guard.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { InboxStore } from './inbox.ts';
import type { LeaseStore } from './leases.ts';
import type { LimitStore } from './limits.ts';
import type { LinkStore } from './links.ts';
import type { OutageStore } from './outages.ts';
import type { SessionStore } from './sessions.ts';
import type { StoredToken } from './stored-tokens.ts';
import type { StreamStore } from './streams.ts';
import type { TraceStore } from './traces.ts';

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
  readonly guard: GuardStore;
  readonly idempotency: IdempotencyStore;
  readonly inbox: InboxStore;
  readonly links: LinkStore;
  readonly outages: OutageStore;
  readonly streams: StreamStore;
  /** Whether the store can be written now, as far as is known without writing. Cheap: asked at every probe. */
  condition(): StoreCondition;
  /** @throws StoreFull if the volume has too little space left for another message and its answer. */
  expectRoom(): void;
  /** Resolves if the store can be written: it writes. */
  check(): Promise<void>;
  /** Looks for damage, by reading all of it: what is wrong, in words; nothing where it is sound. */
  examine(): Promise<readonly string[]>;
  /** How many live tokens, of links, sessions and streams, are stored with a value that begins like this. */
  countTokens(prefix: string): Promise<number>;
  /** The live tokens of links, sessions and streams, in bounded bites. */
  storedTokens(): AsyncIterable<readonly StoredToken[]>;
  /** Stores another value of a token; atomic. False if the token was replaced or deleted meanwhile. */
  replaceToken(token: StoredToken, value: string): Promise<boolean>;
  /**
   * Deletes what has expired and gives free space back to the file system, in bounded bites. Works on a full
   * disk. Called now and then by the daemon. @returns 0 if nothing is left to do; else how much was done.
   */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export interface StoreCondition {
  /** False if the last write failed, or if so little space is left that new messages are refused. */
  writable: boolean;
  /** The reason, a sentence; null if it can be written. */
  detail: string | null;
}
