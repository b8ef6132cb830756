import type { Confirmation } from '../../channel/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { KeyClaim } from './claims.ts';

/** How long a key stays bound to its body after its request failed, ms. */
export const KEY_MEMORY_MS = 3_600_000;

/** How long the answer of an anonymous client is kept, ms. */
export const ANONYMOUS_ANSWER_MS = 3_600_000;

/** Idempotency keys: the first request with a key claims it, and all later requests with the key get its answer. */
export interface IdempotencyStore {
  /**
   * Claims a key for a request; atomic. `new`: the caller runs the request. `Store.commitTurn` stores the answer and
   * ends the claim. If the claim has expired, the next request can take the key over, but the key is still known.
   * @param fingerprint the hash of the request's body. A known key with a different fingerprint is `other_body`. A key
   * stays known for KEY_MEMORY_MS after its claim was released. The embedded store forgets a released key when the
   * process ends, unless a write was started under the key.
   */
  claim(key: string, fingerprint: string): Promise<KeyState | (NewKey & { claim: KeyClaim })>;
  /** What `claim` would return now, without claiming the key. */
  look(key: string, fingerprint: string): Promise<KeyState | NewKey>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: KeyClaim): Promise<boolean>;
  /**
   * Stores the answer of a request that is not a turn, such as a link, for `ttl_ms`, and ends the claim. If the claim
   * is lost, it returns false and writes nothing.
   */
  finish(claim: KeyClaim, answer: StoredAnswer, ttl_ms: number): Promise<boolean>;
  /**
   * Ends a claim without an answer, so that the request can be repeated. No effect if the claim is lost or the key has
   * an answer.
   */
  release(claim: KeyClaim, request?: { counted: boolean }): Promise<void>;
}

/** A key that nobody has claimed, or whose request failed. */
export interface NewKey {
  outcome: 'new';
  /** True if the loop guard has counted a request with this key that was released. Otherwise absent. */
  counted?: true;
}

export type KeyState =
  | { outcome: 'running' }
  | { outcome: 'other_body' }
  | { outcome: 'done'; answer: StoredAnswer };

export interface StoredAnswer {
  /** Empty if the answer belongs to no session. */
  session_id: string;
  response: string;
  /** The question at the end of the response; null or absent if there is none. */
  confirmation?: Confirmation | null;
  /** The only person who may get the answer. Null or absent: anybody with the key may get it. */
  reader?: PersonKey | null;
  /** The person whom an answer without a session names, so that an erasure finds it. Null or absent: nobody. */
  person?: PersonKey | null;
}
