import type { StoredAnswer } from '../store/idempotency.ts';
import { claimKey } from './claim-key.ts';
import type { Step } from './sequence.ts';
import type { Answering, Deduplicated, Identified, Numbered } from './turn.ts';

/**
 * Checks whether the message of this stream has been answered in another way since it was sent (agentd-service(7),
 * "Idempotency-Key").
 *
 * Claims the key that the stream has. Adds `key`, null if there is none. Ends the turn with the first answer if there
 * is one. Throws `duplicate_in_progress` while the message is being answered in another way.
 */
export const deduplicateRun: Step<Answering & Identified & Numbered, Deduplicated, StoredAnswer> = {
  name: 'deduplicate',
  async run(turn, services, line) {
    if (turn.idempotency_key !== null) return claimKey(turn.idempotency_key, turn, services, line);
    line.reason = 'no_key';
    return { key: null };
  },
};
