import { personOf } from '../identity/identity.ts';
import { generateSessionId } from '../session/ids.ts';
import { idBeside } from '../store/id-beside.ts';
import type { StoredAnswer } from '../store/idempotency.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { createStreamOf, type StartedStream, type Starting, sameStream } from './create-stream.ts';
import { fingerprint, firstAnswer, keyOf, otherBody } from './keys.ts';
import { Ended, type Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Answering, Arrived, Deduplicated, Guarded, Identified, NamedByKey, Numbered } from './turn.ts';

/**
 * Checks whether this message was answered before (agentd-service(7), "Idempotency-Key").
 *
 * Checks and claims the key that the client sent. Adds `key`, null if the client sent none, and the `session_id` that
 * belongs to it (`sessionBesideKey`). If there is an answer already, ends the turn with it. Throws
 * `duplicate_in_progress` while the first request runs, and `idempotency_key_reused` if the first request had a
 * different body.
 */
export const deduplicate: Step<Answering & Identified, Deduplicated & Partial<NamedByKey>, StoredAnswer> = {
  name: 'deduplicate',
  async run(turn, services, line) {
    const key = keyOf(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { key: null };
    }
    const stream = await services.store.streams.findByKey(key);
    if (stream && stream.fingerprint !== fingerprint(turn.message)) throw otherBody();
    const session_id = sessionBesideKey(turn, key, services);
    const claimed = await claimKey(key, turn, session_id, services, line);
    return claimed instanceof Ended ? claimed : { ...claimed, session_id };
  },
};

/**
 * Checks whether the message of this stream was answered in another way after it was sent, for example in the response
 * to a repeat of the message (agentd-service(7), "Idempotency-Key").
 *
 * Claims the key of the stream. Adds `key`, null if the stream has none. If there is an answer already, ends the turn
 * with it. Throws `duplicate_in_progress` while the message is being answered in another way.
 */
export const deduplicateRun: Step<Answering & Identified & Numbered, Deduplicated, StoredAnswer> = {
  name: 'deduplicate',
  async run(turn, services, line) {
    if (turn.idempotency_key !== null)
      return claimKey(turn.idempotency_key, turn, turn.session_id, services, line);
    line.reason = 'no_key';
    return { key: null };
  },
};

/**
 * Checks whether this message was sent before, on a stream or in another way (agentd-service(7), "Idempotency-Key").
 *
 * Adds `idempotency_key`, null if the client sent none, and the `session_id` that belongs to it (`sessionBesideKey`).
 * Ends the turn with the first stream or, if the message was answered in another way, with a new stream that replays
 * that answer. Throws `duplicate_in_progress` while the message is being answered in another way, and
 * `idempotency_key_reused` if the key was used with a different body.
 */
export const deduplicateStream: Step<Starting & Identified, Numbered & Partial<NamedByKey>, StartedStream> = {
  name: 'deduplicate',
  async run(turn, services, line) {
    const key = keyOf(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { idempotency_key: null };
    }
    const stream = await services.store.streams.findByKey(key);
    if (stream) return new Ended(sameStream(turn, stream, services));
    const known = await services.store.idempotency.look(key, fingerprint(turn.message));
    const session_id = sessionBesideKey(turn, key, services);
    if (known.outcome === 'new')
      return { idempotency_key: key, session_id, counted_before: known.counted ?? false };
    firstAnswer(known, turn, personOf(turn.credential), services);
    line.reason = 'replayed';
    const replaying = { ...turn, session_id };
    return new Ended(await createStreamOf(replaying, { idempotency_key: key, counted_in: null }, services));
  },
};

/**
 * Claims an idempotency key for the turn. The answer of the turn is then stored under the key. If the turn fails, the
 * claim is released, so that the message can be repeated.
 * @param session_id the session that the records of the key are stored with
 * @returns the claim; or the first answer, if there is one already.
 * @throws `idempotency_key_reused`, `duplicate_in_progress`, `session_forbidden`
 */
async function claimKey(
  key: string,
  turn: Answering & Identified & Partial<Guarded>,
  session_id: string,
  { store, claims, log }: Pick<Services, 'store' | 'claims' | 'log'>,
  line: StepLine,
): Promise<Deduplicated | Ended<StoredAnswer>> {
  const state = await store.idempotency.claim(key, fingerprint(turn.message), session_id);
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

/**
 * The session id of a message with an idempotency key. An id that the message names is the same in each repeat, and is
 * used as it is. A generated id is different in each repeat. It is therefore generated again until its records are
 * in the same shard as the key, so that the store can find the first request (`IdempotencyStore.claim`).
 */
function sessionBesideKey(
  { session_id, session_is_generated, channel, message }: Arrived,
  key: string,
  { store }: Pick<Services, 'store'>,
): string {
  if (!session_is_generated || store.lieTogether(session_id, key)) return session_id;
  return idBeside(store, key, () => generateSessionId(channel.name, message.user_id));
}
