import type { OutgoingReply, ReplyConfirmation } from '../../channel/index.ts';
import type { InboxMessage, StoredQuestion } from '../store/inbox.ts';

/**
 * The end of the id of a notice. Without it, a platform that deduplicates replies by their ids would take the notice
 * for a repeat of the reply.
 */
const NOTICE = '-notice';

/**
 * The stored text of a message as its channel sends it: the agent's reply, or the notice that the message has failed
 * for good. Null if no text is stored.
 */
export function outgoingReply(message: InboxMessage): OutgoingReply | null {
  const text = message.notice ?? message.reply;
  if (text === null) return null;
  const { id, session_id, reply_to, notice, question } = message;
  if (notice !== null) return { id: `${id}${NOTICE}`, session_id, text, reply_to };
  const asks = question === null ? {} : { confirmation: confirmationIn(text, question) };
  return { id, session_id, text, reply_to, ...asks };
}

function confirmationIn(
  text: string,
  { id, begins_at, confirm, decline }: StoredQuestion,
): ReplyConfirmation {
  return { id, lead: text.slice(0, begins_at).trimEnd(), question: text.slice(begins_at), confirm, decline };
}

/** The id of the inbox message to which a reply belongs. */
export function messageIdOf(reply_id: string): string {
  return reply_id.endsWith(NOTICE) ? reply_id.slice(0, -NOTICE.length) : reply_id;
}
