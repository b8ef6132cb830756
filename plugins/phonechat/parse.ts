import {
  asFields,
  asObjects,
  type ChannelText,
  type EditedMessage,
  type Fields,
  type IncomingMessage,
  isTooLong,
  type JsonObject,
} from '../../src/channel/index.ts';
import { MESSAGES_FIELD, WEBHOOK_OBJECT } from './api.ts';
import {
  asCode,
  asId,
  asString,
  asText,
  type Content,
  readContent,
  readStatuses,
  type Status,
  TEXTS,
} from './content.ts';

/** Maximum length of a message id, in characters. The prefix of a hint's id must still fit. */
const MESSAGE_ID_MAX = 500;
/** The latest time that a `Date` can represent, in seconds. */
const TIME_MAX = 8_640_000_000_000;

/** A text that answers a message without an agent run. */
export interface Hint {
  message_id: string;
  user_id: string;
  reply_to: JsonObject;
  text: ChannelText;
  /** The kind of content that the text mentions; null if it mentions none. */
  what: ChannelText | null;
}

/** The content of all entries and changes of a webhook, in order. */
export interface Parsed {
  /** Those with `confirm` are presses of the buttons of questions. */
  messages: IncomingMessage[];
  hints: Hint[];
  edits: EditedMessage[];
  statuses: Status[];
  /** Ids of business numbers that are not configured here. */
  elsewhere: Set<string>;
  /** Number of messages and changes that were ignored, by reason. */
  ignored: Map<string, number>;
  /** Errors that the platform reports for the account, such as `130429: Rate limit hit`. */
  errors: string[];
}

/**
 * Reads a webhook for our business numbers. Never throws, whatever the payload: if a webhook were refused, the platform
 * would deliver the same payload again. Content that differs from the documentation is ignored and counted.
 */
export function parse(payload: Fields, numbers: ReadonlySet<string>): Parsed {
  const parsed: Parsed = {
    messages: [],
    hints: [],
    edits: [],
    statuses: [],
    elsewhere: new Set(),
    ignored: new Map(),
    errors: [],
  };
  if (payload.object !== undefined && payload.object !== WEBHOOK_OBJECT) {
    ignore(parsed, 'another object');
    return parsed;
  }
  for (const entry of asObjects(payload.entry)) {
    for (const { field, value } of asObjects(entry.changes)) {
      if (field !== undefined && field !== MESSAGES_FIELD) ignore(parsed, 'another field');
      else readChange(asFields(value), numbers, parsed);
    }
  }
  return parsed;
}

function readChange(value: Fields, numbers: ReadonlySet<string>, parsed: Parsed): void {
  const metadata = asFields(value.metadata);
  const number_id = asId(metadata.phone_number_id) ?? onlyOne(numbers, value.metadata);
  if (number_id === undefined || !numbers.has(number_id)) {
    const messages = asObjects(value.messages).length;
    if (number_id !== undefined && messages > 0) parsed.elsewhere.add(number_id);
    return;
  }
  const own = asString(metadata.display_phone_number)?.replace(/\D/g, '') || undefined;
  for (const message of asObjects(value.messages)) {
    const why = takeMessage(message, value, { number_id, own, parsed });
    if (why !== null) ignore(parsed, why);
  }
  parsed.statuses.push(...readStatuses(value.statuses));
  parsed.errors.push(...asObjects(value.errors).map(describeError));
}

/**
 * The business number of a webhook without metadata: our only number. Undefined if the webhook has metadata, or if we
 * have several numbers.
 */
function onlyOne(numbers: ReadonlySet<string>, metadata: unknown): string | undefined {
  const [number_id, another] = numbers;
  return metadata === undefined && another === undefined ? number_id : undefined;
}

interface Reading {
  number_id: string;
  /** Digits of the business number. Undefined if the webhook does not name it. */
  own: string | undefined;
  parsed: Parsed;
}

/** Adds the content of a message to the result. If the message is ignored, returns the reason. */
function takeMessage(message: Fields, value: Fields, { number_id, own, parsed }: Reading): string | null {
  const content = readContent(message);
  if (content.kind === 'none') return 'nothing to answer';
  const message_id = readMessageId(message.id);
  const who = whoWrote(message, value);
  const group = readGroup(message);
  if (message_id === undefined || who === undefined || group === undefined) return 'malformed';
  // The business itself wrote this message, so it needs no answer.
  if (own !== undefined && who.user_id === `+${own}`) return 'our own number';
  if (content.kind === 'edit') {
    const { user_id } = who;
    return takeEdit({ ...content, user_id, thread_id: toThreadId(number_id, who, group) }, parsed);
  }

  if (content.kind === 'press') {
    const { confirm } = content;
    parsed.messages.push({ ...toMessage(message, message_id, who, { number_id, group }), text: '', confirm });
    return null;
  }
  const text = content.kind === 'text' ? content.text : content.caption;
  const hint = hintFor(content);
  const reply_to = toPlace(number_id, who, group);
  // In a group, a picture is usually not meant for the agent, so it gets no hint.
  if (hint !== null && group === null)
    parsed.hints.push({ message_id, user_id: who.user_id, reply_to, ...hint });
  if (text === undefined || isTooLong(text)) return group === null ? null : 'no text to read, in a group';
  parsed.messages.push({ ...toMessage(message, message_id, who, { number_id, group }), text });
  return null;
}

/** All members of a message except its text. */
function toMessage(
  { timestamp, context }: Fields,
  message_id: string,
  who: Who,
  { number_id, group }: { number_id: string; group: string | null },
): Omit<IncomingMessage, 'text'> {
  return {
    platform: 'phonechat',
    user_id: who.user_id,
    ...(who.alias_id === undefined ? {} : { alias_id: who.alias_id }),
    channel_id: group ?? who.user_id,
    thread_id: toThreadId(number_id, who, group),
    metadata: toMetadata(who),
    message_id,
    ...sentAt(timestamp),
    shared: group !== null,
    ...(isForwarded(context) ? { forwarded: true } : {}),
    reply_to: { ...toPlace(number_id, who, group), message_id },
  };
}

function takeEdit({ message_id, user_id, thread_id, text }: EditedMessage, parsed: Parsed): string | null {
  const original = readMessageId(message_id);
  if (original === undefined || isTooLong(text)) return 'an edit that cannot be applied';
  parsed.edits.push({ message_id: original, user_id, thread_id, text });
  return null;
}

/** The hint about content that cannot be read; null if everything can be read. */
function hintFor(content: Extract<Content, { kind: 'text' | 'other' }>): Pick<Hint, 'text' | 'what'> | null {
  const read = content.kind === 'text' ? content.text : (content.caption ?? '');
  if (isTooLong(read)) return { text: TEXTS.too_long, what: null };
  if (content.kind === 'text') return null;
  return { text: content.caption === undefined ? TEXTS.text_only : TEXTS.caption_only, what: content.what };
}

/**
 * The session id (agentd-phonechat(7)). Group ids have a prefix, because the platform chooses them, and a group id
 * could look like a user id.
 */
function toThreadId(number_id: string, who: Who, group: string | null): string {
  return `phonechat:${number_id}:${group === null ? who.user_id : `group:${group}`}`;
}

function toMetadata({ user_id, name }: Who): IncomingMessage['metadata'] {
  return {
    ...(user_id.startsWith('+') ? { phone_number: user_id } : {}),
    ...(name === undefined ? {} : { user_name: name }),
  };
}

/** Reads the time of a message: seconds since the epoch, as a string. */
function sentAt(timestamp: unknown): { sent_at?: number } {
  const seconds =
    typeof timestamp === 'string' && /^\d{1,13}$/.test(timestamp) ? Number(timestamp) : timestamp;
  const isTime = typeof seconds === 'number' && seconds > 0 && seconds <= TIME_MAX;
  return isTime ? { sent_at: Math.floor(seconds * 1000) } : {};
}

/** Whether the sender forwarded the message (Cloud API, "Webhooks: context object"). */
function isForwarded(context: unknown): boolean {
  const { forwarded, frequently_forwarded } = asFields(context);
  return forwarded === true || frequently_forwarded === true;
}

/** The id becomes a key, so an id that cannot be used unchanged is rejected. */
function readMessageId(value: unknown): string | undefined {
  const id = asString(value);
  if (id === undefined || id === '' || id.length > MESSAGE_ID_MAX || !id.isWellFormed()) return undefined;
  return /\p{Cc}/u.test(id) ? undefined : id;
}

function describeError({ code, title, message }: Fields): string {
  return `${asCode(code)}: ${asString(title) ?? asString(message) ?? ''}`.slice(0, 200).toWellFormed();
}

function ignore({ ignored }: Parsed, why: string): void {
  ignored.set(why, (ignored.get(why) ?? 0) + 1);
}

/** Digits of a number (`wa_id`), without a plus. */
const DIGITS = /^\d{5,20}$/;
/** Business-scoped user id (BSUID): a country, a period, and up to 128 letters and digits; `ENT` marks a parent id. */
const BSUID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/;
/** Ids of groups are base64. */
const GROUP_ID = /^[A-Za-z0-9+/=_-]{1,200}$/;
const NAME_MAX = 256;

/** The sender of a message, verified by the platform. */
interface Who {
  /** `+number`. If the person hides the number, the business-scoped user id. */
  user_id: string;
  /** The business-scoped user id that arrived with the number. */
  alias_id?: string;
  /** The recipient of an answer. The Cloud API accepts a message with a BSUID in `to`, but never delivers it. */
  address: { to: string } | { recipient: string };
  /** The name that the person chose. */
  name?: string;
}

/**
 * The sender of a message. The ids come from `from` and `from_user_id`. Other data, and an id that is missing there,
 * come from the contact with one of these ids. If the message has no ids, and there is only one contact, the contact is
 * the sender. Undefined if the webhook names nobody.
 */
function whoWrote(message: Fields, value: Fields): Who | undefined {
  const contact = findContact(message, value);
  const number = digitsIn(message.from) ?? digitsIn(contact?.wa_id);
  const bsuid =
    bsuidIn(message.from_user_id) ??
    bsuidIn(message.from) ??
    bsuidIn(contact?.user_id) ??
    bsuidIn(contact?.wa_id);
  const name = asText(asObjects([contact?.profile])[0]?.name)
    ?.slice(0, NAME_MAX)
    .toWellFormed();
  const named = name === undefined ? {} : { name };
  if (number !== undefined) {
    const to = digitsIn(contact?.wa_id) ?? number;
    return {
      user_id: `+${number}`,
      ...(bsuid === undefined ? {} : { alias_id: bsuid }),
      address: { to },
      ...named,
    };
  }
  return bsuid === undefined ? undefined : { user_id: bsuid, address: { recipient: bsuid }, ...named };
}

/** The id of the message's group. Null if it is not in a group; undefined if the id is malformed. */
function readGroup({ group_id }: Fields): string | null | undefined {
  if (group_id === undefined || group_id === null) return null;
  const id = asString(group_id);
  return id !== undefined && GROUP_ID.test(id) ? id : undefined;
}

/** The data that `send` needs for an answer. It is the same for all messages of a conversation. */
function toPlace(number_id: string, who: Who, group: string | null): JsonObject {
  return { number_id, ...(group === null ? who.address : { group }) };
}

export function isBusinessScopedId(id: string): boolean {
  return BSUID.test(id);
}

/** Contacts are matched by id, not by position: a delivery may contain messages of several people. */
function findContact(message: Fields, value: Fields): Fields | undefined {
  const contacts = asObjects(value.contacts);
  const ids = [asId(message.from), asString(message.from_user_id)].filter((id) => id !== undefined);
  if (ids.length === 0) return contacts.length === 1 ? contacts[0] : undefined;
  return contacts.find(({ wa_id, user_id }) => ids.some((id) => id === asId(wa_id) || id === user_id));
}

function digitsIn(value: unknown): string | undefined {
  const text = asId(value)?.replace(/^\+/, '');
  return text !== undefined && DIGITS.test(text) ? text : undefined;
}

function bsuidIn(value: unknown): string | undefined {
  const text = asString(value);
  return text !== undefined && BSUID.test(text) ? text : undefined;
}
