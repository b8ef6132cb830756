import type { Step } from './sequence.ts';
import type { Answering, Stored } from './turn.ts';

/**
 * Passes the stored reply to the outlet, which now sends the parts that it has not sent yet.
 *
 * The reply must be stored. Adds nothing; never ends the turn. If a platform does not accept the reply, the inbox sends
 * it again later.
 */
export const sendReply: Step<Answering & Stored, object> = {
  name: 'send-reply',
  run(turn) {
    turn.outlet.complete(turn.complete);
    return {};
  },
};
