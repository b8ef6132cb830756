import type {
  ChannelPlugin,
  ClosedQuestion,
  IncomingMessage,
  JsonObject,
  OutgoingReply,
  ReplyConfirmation,
} from '../../channel/index.ts';
import type { PartsMemory } from '../../channel/reply-parts.ts';
import type { Seal } from '../identity/seal.ts';
import { findSendersReading } from '../linking/find-link.ts';
import { decisionInWords } from '../message/reply/ended-question.ts';
import type { Services } from '../message/services.ts';
import type { InboxMessage, InboxStore, StoredQuestion } from '../store/inbox/inbox.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { visible } from '../tools/confirmation/plain-value.ts';
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
export function toOutgoingReply(message: InboxMessage): OutgoingReply | null {
  const text = message.notice ?? message.reply;
  if (text === null) return null;
  const { id, session_id, reply_to, notice, question } = message;
  if (notice !== null) return { id: `${id}${NOTICE}`, session_id, text, reply_to };
  const asks = question === null ? {} : { confirmation: confirmationIn(text, question) };
  return { id, session_id, text, reply_to, ...asks };
}

/** The question for buttons: they take the place of the words that say how to answer. */
function confirmationIn(
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
export function createPartsMemory(inbox: InboxStore): PartsMemory {
  return {
    sent: (reply_id) => inbox.partsSent(toMessageId(reply_id)),
    note: (reply_id, parts) => inbox.notePartsSent(toMessageId(reply_id), parts),
  };
}

/** Longest name of a person that is shown, in characters. */
const NAME_MAX = 80;

type Uses = Pick<Services, 'store' | 'seal' | 'clock' | 'log' | 'texts'>;

/**
 * A question without its buttons, for `PushChannel.closeQuestion`. Null if there is nothing to change, for example
 * because the message with the question was deleted.
 * @param message a text that `closes` a message with a question
 */
export async function toClosedQuestion(
  services: Uses,
  plugin: ChannelPlugin,
  { closes }: Pick<InboxMessage, 'closes'>,
): Promise<Omit<ClosedQuestion, 'reply_to'> | null> {
  const asked = closes ? await services.store.inbox.find(closes.message_id) : null;
  const { reply = null, question = null, message = null } = asked ?? {};
  if (closes === undefined || reply === null || question === null || message === null) return null;
  const actions = await services.store.actions.ofQuestion(question.id);
  const reading = await findSendersReading(services, plugin, message);
  // Some platforms name a person only when the person presses a button. The turn of a message has the message’s id.
  const [{ turn_key } = { turn_key: '' }] = actions;
  const answer = message.shared === true ? await services.store.inbox.find(turn_key) : null;
  const decision = decisionInWords(actions, services.clock.now(), {
    ...reading,
    who: describeDecider([message, ...(answer?.message ? [answer.message] : [])], reading.texts),
  });
  if (decision === null) return null;
  return { sent_id: closes.sent_id, confirmation: confirmationIn(reply, question), ...decision };
}

/** Only the person who was asked can decide. In a group, others read the name under which the platform shows them. */
function describeDecider(theirs: readonly IncomingMessage[], texts: LocalTexts): string {
  if (theirs.some(({ shared }) => shared !== true)) return texts.say('decided_by_you');
  const names = theirs.map(({ metadata }) => visible(metadata.user_name ?? '').trim());
  return names.find((name) => name !== '' && name.length <= NAME_MAX) ?? texts.say('decided_by_asked');
}
