import type { Confirmation } from '../../channel/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { KeyClaim } from './claims.ts';

/** How long a key whose request failed belongs to the body that it came with, ms. */
export const KEY_MEMORY_MS = 3_600_000;

/** Idempotency keys: the first request of a key claims it, and its answer is found by all later ones. */
export interface IdempotencyStore {
  /**
   * Claims a key for a request. `new`: the caller runs it; the answer is stored by `Store.commitTurn`, which ends the
   * claim. An expired claim counts as absent, but its key is still known. Atomic.
   * @param fingerprint of the request's body; a known key with another one is `other_body`. A key stays known for
   * KEY_MEMORY_MS after its claim was released. The embedded store forgets it with its process unless a write was begun
   * under it.
   */
  claim(key: string, fingerprint: string): Promise<KeyState | { outcome: 'new'; claim: KeyClaim }>;
  /** What `claim` would find now; claims nothing. */
  look(key: string, fingerprint: string): Promise<KeyState | { outcome: 'new' }>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: KeyClaim): Promise<boolean>;
  /**
   * Stores the answer of a request that is no turn, such as a link, found for `ttl_ms`; ends the claim. False if the claim
   * is lost: nothing is written.
   */
  finish(claim: KeyClaim, answer: StoredAnswer, ttl_ms: number): Promise<boolean>;
  /** Ends a claim without an answer, so that the request can be repeated; no effect on one that is lost or answered. */
  release(claim: KeyClaim): Promise<void>;
}

export type KeyState =
  | { outcome: 'running' }
  | { outcome: 'other_body' }
  | { outcome: 'done'; answer: StoredAnswer };

export interface StoredAnswer {
  /** Empty: it belongs to no session. */
  session_id: string;
  response: string;
  /** The question at the end of the response; absent: it asks for nothing. */
  confirmation?: Confirmation | null;
  /** The only person who may have it; null or absent: whoever has the key. */
  reader?: PersonKey | null;
}
