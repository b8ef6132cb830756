import type { Step } from './sequence.ts';
import type { Answered, Arrived, Stored } from './turn.ts';

/**
 * To where the message came from: a channel that answers in the request is told the whole reply, through
 * any other one the kept reply is sent.
 *
 * Needs the reply to be stored. Adds nothing; never ends the turn: a text that the platform did not take is
 * the inbox's to send again.
 */
export const sendReply: Step<Arrived & Answered & Stored, object> = {
  name: 'send-reply',
  async run(turn, _services, line) {
    if (turn.inbox) {
      const delivery = await turn.inbox.sendReply();
      if (delivery === 'waiting') line.reason = 'platform_out_of_reach';
      else if (delivery !== 'sent') line.verdict = 'failed';
      line.detail = { delivery };
    } else {
      turn.emit({ type: 'complete', session_id: turn.session_id, response: turn.reply, replayed: false });
    }
    return {};
  },
};
