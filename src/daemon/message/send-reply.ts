import type { Step } from './sequence.ts';
import type { Answered, Answering, Stored } from './turn.ts';

/**
 * Passes the stored reply to the outlet, which now sends the parts that it has not sent yet.
 *
 * The reply must be stored. Adds nothing; never ends the turn. If a platform does not accept the reply, the inbox sends
 * it again later.
 */
export const sendReply: Step<Answering & Answered & Stored, object> = {
  name: 'send-reply',
  run({ outlet, turn_id, session_id, reply, question, receipts, stopped }) {
    outlet.complete({ turn_id, session_id, response: reply, question, receipts, stopped, replayed: false });
    return {};
  },
};
