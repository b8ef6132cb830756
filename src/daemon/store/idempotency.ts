import type { PersonKey } from '../identity/identity.ts';

export interface IdempotencyStore {
  /**
   * Claims a key for a request. `new`: it is the caller's to run. A claim whose owner died counts as none.
   * @param fingerprint of the request's body; a known key with another one is `other_body`.
   */
  claim(key: string, fingerprint: string): Promise<Claim>;
  /** What `claim` would find now; claims nothing. */
  look(key: string, fingerprint: string): Promise<Claim>;
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
  /** Empty: it belongs to no session. */
  session_id: string;
  response: string;
  /** The only person who may have it; null or absent: whoever has the key. */
  reader?: PersonKey | null;
}
