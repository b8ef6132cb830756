import type { Step } from './sequence.ts';
import { completeReply } from './store-reply.ts';
import type { Answered, Answering, Resolved, Stored } from './turn.ts';

/**
 * Passes the stored reply to the outlet, which now sends the parts that it has not sent yet.
 *
 * The reply must be stored. Adds nothing; never ends the turn. If a platform does not accept the reply, the inbox sends
 * it again later.
 */
export const sendReply: Step<Answering & Resolved & Answered & Stored, object> = {
  name: 'send-reply',
  run(turn) {
    turn.outlet.complete(completeReply(turn, turn.question));
    return {};
  },
};
