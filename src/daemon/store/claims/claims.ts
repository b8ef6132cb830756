/**
 * The exclusive right to write to one thing. It has one owner at a time, identified by a random token. Every write
 * under a claim names the token, and the store checks the token in the same atomic step. If the claim is gone, the
 * whole write is refused.
 */
export interface Claim {
  /** Random, 128 bits; no two claims share it. */
  readonly owner: string;
}

/** The right to write to a session: one message of a session runs at a time. */
export interface SessionClaim extends Claim {
  /** The permanent name of the session (`sessionTag`). */
  readonly session_tag: string;
}

/** The place of a message in the line of its session. */
export interface SessionPlace {
  /** Identifies the daemon at which the message waits. */
  readonly daemon: string;
  /** The number of the message at this daemon. A later message has a greater one. */
  readonly message: number;
}

/** The right to answer the first request with an idempotency key. */
export interface KeyClaim extends Claim {
  readonly key: string;
  readonly fingerprint: string;
}

/** The right to write the events of a stream. */
export interface StreamClaim extends Claim {
  readonly stream_id: string;
}

/**
 * How long a claim is valid after it was taken or renewed, ms by the store's clock. After that, another caller can take
 * it over. Until another caller has taken it over, its owner can still renew it.
 */
export const CLAIM_MS = 12_000;

/**
 * How often the daemon looks for expired claims, ms. The death of a daemon is noticed within 15 s (agentd-scaling(7)):
 * its claims expire `CLAIM_MS` after their last renewal, and the next search finds them.
 */
export const REAP_MS = 3000;
