import { personFrom } from '../identity/identity.ts';
import type { StoredAnswer } from '../store/idempotency.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { createStreamForTurn, expectSameStream, type StartedStream, type Starting } from './create-stream.ts';
import { findFirstAnswer, fingerprint, otherBody, toIdempotencyKey } from './keys.ts';
import { Ended, type Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Answering, Deduplicated, Guarded, Identified, Numbered } from './turn.ts';

type Uses = Pick<Services, 'store' | 'claims' | 'log' | 'seal'>;

/**
 * Checks whether this message was answered before (agentd-service(7), "Idempotency-Key"); or, if it is the message of a
 * stream, whether it was answered in another way since it was sent.
 *
 * Checks and claims the key that the client sent, or with which the stream was stored, whoever has opened it. Adds `key`,
 * null if the client sent none. If there is an answer already, ends the turn with it. Throws `duplicate_in_progress`
 * while the first request runs, and `idempotency_key_reused` if the first request had a different body.
 */
export const deduplicate: Step<Answering & Identified & Partial<Numbered>, Deduplicated, StoredAnswer> = {
  name: 'deduplicate',
  run(turn, services: Uses, line) {
    const { idempotency_key = toIdempotencyKey(turn) } = turn;
    if (idempotency_key !== null) return claimKey(idempotency_key, turn, services, line);
    line.reason = 'no_key';
    return { key: null };
  },
};

/**
 * Checks whether this message was sent before, on a stream or in another way (agentd-service(7), "Idempotency-Key").
 *
 * Adds `idempotency_key`, null if the client sent none.
 * Ends the turn with the first stream or, if the message was answered in another way, with a new stream that replays
 * that answer. Throws `duplicate_in_progress` while the message is being answered in another way, and
 * `idempotency_key_reused` if the key was used with a different body.
 */
export const deduplicateStream: Step<Starting & Identified, Numbered, StartedStream> = {
  name: 'deduplicate',
  async run(turn, services: Uses, line) {
    const key = toIdempotencyKey(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { idempotency_key: null };
    }
    const stream = await services.store.streams.findByKey(key);
    if (stream) return new Ended(expectSameStream(turn, stream, services));
    const known = await services.store.idempotency.look(key, fingerprint(turn.message));
    if (known.outcome === 'new') return { idempotency_key: key, counted_before: known.counted ?? false };
    findFirstAnswer(known, turn, personFrom(turn.credential), services);
    line.reason = 'replayed';
    return new Ended(await createStreamForTurn(turn, { idempotency_key: key, counted_in: null }, services));
  },
};

/**
 * Claims an idempotency key for the turn. The answer of the turn is then stored under the key. If the turn fails, the
 * claim is released, so that the message can be repeated.
 * @returns the claim; or the first answer, if there is one already.
 * @throws `idempotency_key_reused`, `duplicate_in_progress`, `session_forbidden`
 */
async function claimKey(
  key: string,
  turn: Answering & Identified & Partial<Guarded & Numbered>,
  { store, claims, log }: Uses,
  line: StepLine,
): Promise<Deduplicated | Ended<StoredAnswer>> {
  const stream = turn.idempotency_key === undefined ? await store.streams.findByKey(key) : null;
  if (stream && stream.fingerprint !== fingerprint(turn.message)) throw otherBody();
  const state = await store.idempotency.claim(key, fingerprint(turn.message));
  if (state.outcome !== 'new') {
    const answer = findFirstAnswer(state, turn, personFrom(turn.credential), { log });
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
