import { personOf } from '../identity/identity.ts';
import { createStreamOf, type StartedStream, type Starting, sameStream } from './create-stream.ts';
import { fingerprint, firstAnswer, keyOf } from './idempotency-key.ts';
import { Ended, type Step } from './sequence.ts';
import { sessionBesideKey } from './session-beside-key.ts';
import type { Identified, NamedByKey, Numbered } from './turn.ts';

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
