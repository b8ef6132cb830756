import type { GuardStore } from './guard.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { InboxStore } from './inbox.ts';
import type { LeaseStore } from './leases.ts';
import type { LimitStore } from './limits.ts';
import type { LinkStore } from './links.ts';
import type { SessionStore } from './sessions.ts';
import type { StreamStore } from './streams.ts';
import type { TraceStore } from './traces.ts';

export interface StoreCondition {
  writable: boolean;
  /** For operators, without a full stop; null if it is writable. */
  detail: string | null;
}

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
  readonly streams: StreamStore;
  /** Resolves where the store can be written. */
  check(): Promise<void>;
  /** Whether the store could be written when this was last tried, and if not, why. Cheap: it writes nothing. */
  condition(): StoreCondition;
  /** Looks for damage, by reading all of it: what is wrong, in words; nothing where it is sound. */
  examine(): Promise<readonly string[]>;
  /** How many live tokens, of links, sessions and streams, are stored with a value that begins like this. */
  countTokens(prefix: string): Promise<number>;
  /** Deletes what has expired, in bounded bites; returns how many rows. Called now and then by the daemon. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}
