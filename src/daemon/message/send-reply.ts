import type { Step } from './sequence.ts';
import type { Answering, Stored } from './turn.ts';

/**
 * Passes the stored reply to the outlet, which now sends the parts that it has not sent yet. The readers of a stream get
 * them from the store.
 *
 * The reply must be stored. Adds nothing; never ends the turn.
 */
export const sendReply: Step<Answering & Stored, object> = {
  name: 'send-reply',
  run(turn) {
    turn.outlet.complete?.(turn.complete);
    return {};
  },
};
