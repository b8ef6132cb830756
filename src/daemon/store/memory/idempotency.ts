import type { KeyClaim } from '../claims.ts';
import type { IdempotencyStore, KeyState, StoredAnswer } from '../idempotency.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function idempotencySteps(context: MemoryContext): Steps<IdempotencyStore> {
  const { state, clock } = context;
  const claims = context.claims.keys;
  const look = (key: string, fingerprint: string): KeyState | { outcome: 'new' } => {
    if (claims.isValid(key))
      return { outcome: state.fingerprints.get(key) === fingerprint ? 'running' : 'other_body' };
    const done = state.answers.get(key);
    if (!done || done.expires_at <= clock.now()) return { outcome: 'new' };
    if (done.fingerprint !== fingerprint) return { outcome: 'other_body' };
    return { outcome: 'done', answer: done.answer };
  };
  return {
    look,
    claim(key, fingerprint) {
      const found = look(key, fingerprint);
      if (found.outcome !== 'new') return found;
      const owner = claims.take(key);
      if (owner === null) throw new Error('a key without a valid claim cannot be claimed');
      state.fingerprints.set(key, fingerprint);
      return { outcome: 'new', claim: { key, fingerprint, owner } };
    },
    renew: ({ key, owner }) => claims.renew(key, owner),
    finish(claim, answer, ttl_ms) {
      if (!claims.isHeld(claim.key, claim.owner)) return false;
      storeAnswer(context, claim, answer, ttl_ms);
      return true;
    },
    release: ({ key, owner }) => claims.release(key, owner),
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
}
