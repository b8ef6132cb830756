import type { StoredAnswer } from '../store/idempotency.ts';
import { claimKey } from './claim-key.ts';
import type { Step } from './sequence.ts';
import type { Answering, Deduplicated, Identified, Numbered } from './turn.ts';

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
    if (turn.idempotency_key !== null) return claimKey(turn.idempotency_key, turn, services, line);
    line.reason = 'no_key';
    return { key: null };
  },
};
