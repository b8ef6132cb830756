import type { StoredAnswer } from '../store/idempotency.ts';
import { claimKey } from './claim-key.ts';
import { fingerprint, keyOf, otherBody } from './idempotency-key.ts';
import type { Step } from './sequence.ts';
import type { Answering, Deduplicated, Identified } from './turn.ts';

/**
 * Checks whether this message was answered before (agentd-service(7), "Idempotency-Key").
 *
 * Checks and claims the key that the client sent. Adds `key`, null if the client sent none. If there is an answer already, ends the turn with it. Throws
 * `duplicate_in_progress` while the first request runs, and `idempotency_key_reused` if the first request had a
 * different body.
 */
export const deduplicate: Step<Answering & Identified, Deduplicated, StoredAnswer> = {
  name: 'deduplicate',
  async run(turn, services, line) {
    const key = keyOf(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { key: null };
    }
    const stream = await services.store.streams.findByKey(key);
    if (stream && stream.fingerprint !== fingerprint(turn.message)) throw otherBody();
    return claimKey(key, turn, services, line);
  },
};
