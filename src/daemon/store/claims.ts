/**
 * The right to write to one thing. It has one owner at a time, known by a random token: every write under a claim names
 * it, the store compares the token in the same atomic step, and refuses a write whose claim is gone as a whole.
 */
export interface Claim {
  /** Random, 128 bits; no two claims share it. */
  readonly owner: string;
}

/** To write to a session: one message of a session runs at a time. */
export interface SessionClaim extends Claim {
  /** The name of the session that never changes (`tagOf`). */
  readonly session_tag: string;
}

/** To answer the first request of an idempotency key. */
export interface KeyClaim extends Claim {
  readonly key: string;
  readonly fingerprint: string;
}

/** To write the events of a stream. */
export interface StreamClaim extends Claim {
  readonly stream_id: string;
}

/**
 * How long a claim is valid after it was taken or renewed, ms by the store's clock. After that another caller can
 * take it over. The owner of an expired claim may renew it as long as nobody has.
 */
export const CLAIM_MS = 15_000;
