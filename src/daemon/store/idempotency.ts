import type { Confirmation, Receipts } from '../../channel/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import { clientTag } from '../session/session.ts';
import { type ClaimState, clamped, isValid, newClaim, ONLY_CLAIMS, renewed } from './claims/claim-state.ts';
import { CLAIM_MS, type KeyClaim } from './claims/claims.ts';
import type { Kernel, Kind, Tx } from './kernels/kernel.ts';
import { stepsOf } from './steps-of.ts';

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
interface NewKey {
  outcome: 'new';
  /** True if the loop guard has counted a request with this key that was released. Otherwise absent. */
  counted?: true;
}

export type KeyState =
  | { outcome: 'running' }
  | { outcome: 'other_body' }
  | { outcome: 'done'; answer: StoredAnswer };

export interface StoredAnswer {
  /** The turn of the answer. Absent if the answer belongs to no turn. */
  turn_id?: string;
  /** Empty if the answer belongs to no session. */
  session_id: string;
  response: string;
  /** The question at the end of the response; null or absent if there is none. */
  confirmation?: Confirmation | null;
  /** What the message did. Absent if it did nothing. */
  receipts?: Receipts;
  /** The only person who may get the answer. Null or absent: anybody with the key may get it. */
  reader?: PersonKey | null;
  /** The person whom an answer without a session names, so that an erasure finds it. Null or absent: nobody. */
  person?: PersonKey | null;
}

/** An idempotency key: claimed, answered, or known because a request with it failed. */
interface StoredKey {
  fingerprint: string;
  claim: ClaimState | null;
  answer: StoredAnswer | null;
  /** Whether the loop guard has counted a request with this key that was released. */
  counted?: true;
  /** Whether a write was started under the key, so that a request with it must stay known. */
  started?: true;
  /** When the key is forgotten, ms since the epoch; while it is claimed, `KEY_MEMORY_MS` after its claim. */
  expires_at: number;
}

/**
 * Only an answer counts for its client: a key without one is not deleted to make room, because a write may have been
 * started under it.
 */
export const KEY: Kind<StoredKey> = {
  name: 'key',
  expires: ({ expires_at }) => expires_at,
  client: ({ answer }, key) => (answer === null ? null : clientOfKey(key)),
};

export function idempotencyStore(kernel: Kernel): IdempotencyStore {
  const step = stepsOf(kernel);
  return {
    look: step(look, ONLY_CLAIMS),
    claim: step((tx, key, fingerprint) => {
      const found = look(tx, key, fingerprint);
      if (found.outcome !== 'new') return found;
      const claim = newClaim(tx);
      putClaimed(tx, key, fingerprint, claim);
      return { ...found, claim: { key, fingerprint, owner: claim.owner } };
    }, ONLY_CLAIMS),
    renew: step((tx, claim) => {
      const found = tx.get(KEY, claim.key)?.claim;
      if (!found || found.owner !== claim.owner) return false;
      putClaimed(tx, claim.key, claim.fingerprint, renewed(found, tx));
      return true;
    }, ONLY_CLAIMS),
    finish: step((tx, claim, answer, ttl_ms) => {
      if (!holdsKey(tx, claim)) return false;
      storeAnswer(tx, claim, answer, ttl_ms);
      return true;
    }),
    release: step((tx, claim, { counted } = { counted: false }) => {
      if (!holdsKey(tx, claim)) return;
      const { key, fingerprint } = claim;
      const expires_at = tx.now + KEY_MEMORY_MS;
      tx.put(KEY, key, {
        fingerprint,
        claim: null,
        answer: null,
        ...(counted ? { counted } : {}),
        expires_at,
      });
    }, ONLY_CLAIMS),
  };
}

export function holdsKey(tx: Tx, { key, owner }: KeyClaim): boolean {
  return tx.get(KEY, key)?.claim?.owner === owner;
}

/** Makes the key known even after the process has ended. */
export function noteStarted(tx: Tx, key: string): void {
  const known = tx.get(KEY, key);
  if (known !== null && tx.isDead !== undefined) tx.put(KEY, key, { ...known, started: true });
}

/** Stores the answer of a key whose claim is held, and ends the claim. */
export function storeAnswer(
  tx: Tx,
  { key, fingerprint }: KeyClaim,
  answer: StoredAnswer,
  ttl_ms: number,
): void {
  tx.put(KEY, key, { fingerprint, claim: null, answer, expires_at: tx.now + ttl_ms });
}

function look(tx: Tx, key: string, fingerprint: string): KeyState | NewKey {
  const known = tx.get(KEY, key);
  if (known === null) return { outcome: 'new' };
  const { claim, answer } = known;
  if (claim !== null && tx.isDead?.(claim.owner) && !known.started) return { outcome: 'new' };
  if (claim !== null && clamped(claim, tx) !== claim)
    putClaimed(tx, key, known.fingerprint, clamped(claim, tx));
  if (known.fingerprint !== fingerprint) return { outcome: 'other_body' };
  if (isValid(claim, tx)) return { outcome: 'running' };
  if (answer !== null) return { outcome: 'done', answer };
  return known.counted ? { outcome: 'new', counted: true } : { outcome: 'new' };
}

function putClaimed(tx: Tx, key: string, fingerprint: string, claim: ClaimState): void {
  const started = tx.get(KEY, key)?.started === true ? ({ started: true } as const) : {};
  tx.put(KEY, key, {
    fingerprint,
    claim,
    answer: null,
    ...started,
    expires_at: tx.now + CLAIM_MS + KEY_MEMORY_MS,
  });
}

/**
 * The tag of the anonymous client to whom an idempotency key belongs (`toIdempotencyKey`); null if the key
 * belongs to a person, or to a message of a platform.
 */
export function clientOfKey(key: string): string | null {
  if (!key.startsWith('[')) return null;
  const [, sender] = JSON.parse(key) as [string, string[]];
  const [kind, address] = sender;
  return kind === 'client' && address !== undefined ? clientTag(address) : null;
}
