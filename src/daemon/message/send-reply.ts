import type { Step } from './sequence.ts';
import type { Answered, Arrived, Stored } from './turn.ts';

/**
 * To where the message came from: a channel that answers in the request is told the whole reply.
 *
 * Needs the reply to be stored. Adds nothing; never ends the turn.
 */
export const sendReply: Step<Arrived & Answered & Stored, object> = {
  name: 'send-reply',
  async run(turn) {
    turn.emit({ type: 'complete', session_id: turn.session_id, response: turn.reply, replayed: false });
    return {};
  },
};
