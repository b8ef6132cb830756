import type { JsonObject, OutgoingReply, ReplyConfirmation } from '../../channel/index.ts';
import type { PartsMemory } from '../../channel/reply-parts.ts';
import type { Seal } from '../identity/seal.ts';
import type { InboxMessage, InboxStore, StoredQuestion } from '../store/inbox/inbox.ts';
import { escapeMarkdown } from '../tools/confirmation/question.ts';

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

/** The question for buttons: they take the place of the words that say how to answer. */
export function confirmationIn(
  text: string,
  { begins_at, how = 0, ...question }: StoredQuestion,
): ReplyConfirmation {
  const { part_line } = question;
  const asked = text.slice(begins_at, text.length - how).trimEnd();
  return {
    ...question,
    lead: text.slice(0, begins_at).trimEnd(),
    question: part_line === undefined ? asked : `${asked}\n\n${escapeMarkdown(part_line)}`,
  };
}

/** The id of the inbox message to which a reply belongs. */
function toMessageId(reply_id: string): string {
  return reply_id.endsWith(NOTICE) ? reply_id.slice(0, -NOTICE.length) : reply_id;
}

/**
 * The member `private` of a `reply_to` is a secret of the platform, for example an address that takes answers without
 * further proof. It is sealed while it is stored, and only for its own message.
 */
function toRecordKey(id: string): string {
  return `reply_to:${id}`;
}

/** The `reply_to` as the inbox stores it. @param id of the message */
export function sealReplyTo(seal: Seal, id: string, reply_to: JsonObject): JsonObject {
  const { private: secret, ...open } = reply_to;
  return secret === undefined
    ? reply_to
    : { ...open, private: seal.close(JSON.stringify(secret), toRecordKey(id)) };
}

/** The `reply_to` as a channel gets it. Null if no key opens its private member. */
export function openReplyTo(seal: Seal, id: string, reply_to: JsonObject): JsonObject | null {
  const { private: sealed, ...open } = reply_to;
  if (sealed === undefined) return reply_to;
  const opened = typeof sealed === 'string' ? seal.open(sealed, toRecordKey(id)) : null;
  return opened === null ? null : { ...open, private: JSON.parse(opened) };
}

/** The `reply_to` without its private member. */
export function omitPrivate({ private: _secret, ...open }: JsonObject): JsonObject {
  return open;
}

/** Stores with each message how many parts of its text were sent, so that they are not sent again after a restart. */
export function storedParts(inbox: InboxStore): PartsMemory {
  return {
    sent: (reply_id) => inbox.partsSent(toMessageId(reply_id)),
    note: (reply_id, parts) => inbox.notePartsSent(toMessageId(reply_id), parts),
  };
}
