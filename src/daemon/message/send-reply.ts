import type { Step } from './sequence.ts';
import type { Answered, Answering, Stored } from './turn.ts';

/**
 * Hands the stored reply over to the outlet: what it does not have yet leaves now.
 *
 * Needs the reply to be stored. Adds nothing; never ends the turn: a reply that a platform did not take is sent again by
 * the inbox, after the steps.
 */
export const sendReply: Step<Answering & Answered & Stored, object> = {
  name: 'send-reply',
  async run({ outlet, session_id, reply, question, stopped }) {
    outlet.complete({ session_id, response: reply, question, stopped, replayed: false });
    return {};
  },
};
