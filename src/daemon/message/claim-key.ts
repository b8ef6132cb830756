import { personOf } from '../identity/identity.ts';
import type { Services } from '../services.ts';
import type { StoredAnswer } from '../store/idempotency.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { fingerprint, firstAnswer } from './idempotency-key.ts';
import { Ended } from './sequence.ts';
import type { Answering, Deduplicated, Guarded, Identified } from './turn.ts';

/**
 * Claims an idempotency key for the turn. The answer of the turn is then stored under the key. If the turn fails, the
 * claim is released, so that the message can be repeated.
 * @returns the claim; or the first answer, if there is one already.
 * @throws `idempotency_key_reused`, `duplicate_in_progress`, `session_forbidden`
 */
export async function claimKey(
  key: string,
  turn: Answering & Identified & Partial<Guarded>,
  { store, claims, log }: Pick<Services, 'store' | 'claims' | 'log'>,
  line: StepLine,
): Promise<Deduplicated | Ended<StoredAnswer>> {
  const state = await store.idempotency.claim(key, fingerprint(turn.message));
  if (state.outcome !== 'new') {
    const answer = firstAnswer(state, turn, personOf(turn.credential), { log });
    line.reason = 'replayed';
    return new Ended(answer);
  }
  const { claim, counted = false } = state;
  const drop = claims.hold(claim, store.idempotency, turn.lost);
  turn.defer(async (failed) => {
    drop();
    // The guard counts the turn after this step.
    const isCounted = counted || (turn.counted_in ?? null) !== null;
    if (failed) await store.idempotency.release(claim, { counted: isCounted });
  });
  return { key: claim, counted_before: counted };
}
