import { personOf } from '../identity/identity.ts';
import { createStreamOf, type StartedStream, type Starting, sameStream } from './create-stream.ts';
import { fingerprint, firstAnswer, keyOf } from './idempotency-key.ts';
import { Ended, type Step } from './sequence.ts';
import type { Identified, Numbered } from './turn.ts';

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
  async run(turn, services, line) {
    const key = keyOf(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { idempotency_key: null };
    }
    const stream = await services.store.streams.findByKey(key);
    if (stream) return new Ended(sameStream(turn, stream, services));
    const known = await services.store.idempotency.look(key, fingerprint(turn.message));
    if (known.outcome === 'new') return { idempotency_key: key, counted_before: known.counted ?? false };
    firstAnswer(known, turn, personOf(turn.credential), services);
    line.reason = 'replayed';
    return new Ended(await createStreamOf(turn, { idempotency_key: key, counted_in: null }, services));
  },
};
