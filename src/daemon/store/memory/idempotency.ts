import type { KeyClaim } from '../claims.ts';
import {
  type IdempotencyStore,
  KEY_MEMORY_MS,
  type KeyState,
  type NewKey,
  type StoredAnswer,
} from '../idempotency.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function idempotencySteps(context: MemoryContext): Steps<IdempotencyStore> {
  const { state, clock } = context;
  const claims = context.claims.keys;
  const look = (key: string, fingerprint: string): KeyState | NewKey => {
    const known = state.fingerprints.get(key);
    if (claims.isValid(key))
      return { outcome: known?.fingerprint === fingerprint ? 'running' : 'other_body' };
    const now = clock.now();
    const done = state.answers.get(key);
    const isDone = done !== undefined && done.expires_at > now;
    const claim = state.claims.keys.get(key);
    const until = claim ? claim.expires_at + KEY_MEMORY_MS : (known?.expires_at ?? 0);
    const isKnown = known !== undefined && until > now;
    const first = isDone ? done.fingerprint : isKnown ? known.fingerprint : fingerprint;
    if (first !== fingerprint) return { outcome: 'other_body' };
    if (isDone) return { outcome: 'done', answer: done.answer };
    return isKnown && known.counted ? { outcome: 'new', counted: true } : { outcome: 'new' };
  };
  return {
    look,
    claim(key, fingerprint) {
      const found = look(key, fingerprint);
      if (found.outcome !== 'new') return found;
      const owner = claims.take(key);
      if (owner === null) throw new Error('a key without a valid claim cannot be claimed');
      state.fingerprints.set(key, { fingerprint, expires_at: 0, counted: false });
      return { ...found, claim: { key, fingerprint, owner } };
    },
    renew: ({ key, owner }) => claims.renew(key, owner),
    finish(claim, answer, ttl_ms) {
      if (!claims.isHeld(claim.key, claim.owner)) return false;
      storeAnswer(context, claim, answer, ttl_ms);
      return true;
    },
    release({ key, owner, fingerprint }, { counted } = { counted: false }) {
      if (!claims.isHeld(key, owner)) return;
      claims.release(key, owner);
      state.fingerprints.set(key, { fingerprint, expires_at: clock.now() + KEY_MEMORY_MS, counted });
    },
  };
}

/** Stores the answer of a key whose claim is held, and ends the claim. */
export function storeAnswer(
  { state, claims, clock }: MemoryContext,
  { key, fingerprint }: KeyClaim,
  answer: StoredAnswer,
  ttl_ms: number,
): void {
  state.answers.set(key, { fingerprint, answer, expires_at: clock.now() + ttl_ms });
  claims.keys.end(key);
  state.fingerprints.delete(key);
}
