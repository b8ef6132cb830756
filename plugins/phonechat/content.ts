import {
  asFields,
  asObjects,
  type ChannelText,
  type ConfirmationAnswer,
  channelTexts,
  type Fields,
  readPressPayload,
} from '../../src/channel/index.ts';

/** A value of another type counts as missing. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An id, or a string of digits such as a phone number. Some gateways send these as JSON numbers. */
export function asId(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : asString(value);
}

/** An error code as a number; NaN for any other value. */
export function asCode(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

/** A text, trimmed and well-formed; undefined if it is empty. */
export function asText(value: unknown): string | undefined {
  const words = asString(value)?.toWellFormed().trim();
  return words === '' ? undefined : words;
}

/** The content of a message, as an agent can use it. An agent reads only text. */
export type Content =
  | { kind: 'text'; text: string }
  /** A press of a question's button. */
  | { kind: 'press'; confirm: ConfirmationAnswer }
  /** Content other than text, with its caption. `what` names it as a plural noun (`pictures`). */
  | { kind: 'other'; what: ChannelText; caption?: string }
  /** The sender edited an earlier message. */
  | { kind: 'edit'; message_id: string; text: string }
  /** Nothing that needs an answer. */
  | { kind: 'none' };

const NONE: Content = { kind: 'none' };

/**
 * Types that contain no text of the sender: `unsupported` (which includes edits, polls, and content that the platform
 * could not read), reactions, changed phone numbers, deletions, and newly opened chats.
 */
const SILENT: ReadonlySet<string> = new Set([
  'unsupported',
  'unknown',
  'reaction',
  'system',
  'revoke',
  'request_welcome',
  'errors',
]);

/** Reads the content of a message of any type. */
export function readContent(message: Fields): Content {
  const type = asString(message.type) ?? '';
  switch (type) {
    case 'text':
      return textOr(asFields(message.text).body, NONE);
    case 'button':
      return textOr(asFields(message.button).text, NONE);
    case 'interactive':
      return pressOr(asFields(message.interactive), other(type));
    case 'edit':
      return readEdit(asFields(message.edit));
    case 'image':
    case 'video':
    case 'document':
      return other(type, asText(asFields(message[type]).caption));
    default:
      return type === '' || SILENT.has(type) ? NONE : other(type);
  }
}

function pressOr(interactive: Fields, otherwise: Content): Content {
  const confirm =
    interactive.type === 'button_reply' ? readPressPayload(asFields(interactive.button_reply).id) : null;
  return confirm === null ? textOr(readTitle(interactive), otherwise) : { kind: 'press', confirm };
}

/** Title of the button or list row that the sender chose. */
function readTitle(interactive: Fields): unknown {
  switch (interactive.type) {
    case 'button_reply':
      return asFields(interactive.button_reply).title;
    case 'list_reply':
      return asFields(interactive.list_reply).title;
    default:
      return undefined;
  }
}

/** Reads the new text of a text or caption that was edited. */
function readEdit({ original_message_id, message }: Fields): Content {
  const content = readContent(asFields(message));
  const text =
    content.kind === 'text' ? content.text : content.kind === 'other' ? content.caption : undefined;
  const message_id = asString(original_message_id);
  return message_id === undefined || text === undefined ? NONE : { kind: 'edit', message_id, text };
}

function textOr(value: unknown, otherwise: Content): Content {
  const text = asText(value);
  return text === undefined ? otherwise : { kind: 'text', text };
}

function other(type: string, caption?: string): Content {
  const what = Object.hasOwn(KINDS, type) ? KINDS[type as keyof typeof KINDS] : KINDS.other;
  return { kind: 'other', what, ...(caption === undefined ? {} : { caption }) };
}

/** The status of a message that was sent (Cloud API, "Status messages webhook reference"). */
export interface Status {
  status: StatusWord;
  message_id: string | undefined;
  /** Why the message failed, if it did. */
  error?: { code: number; title: string };
}

const WORDS = ['sent', 'delivered', 'read', 'played', 'failed', 'other'] as const;
type StatusWord = (typeof WORDS)[number];

type StatusCounts = Partial<Record<StatusWord, number>>;

export function readStatuses(value: unknown): Status[] {
  return asObjects(value).map(({ status, id, errors }) => {
    const word = WORDS.find((known) => known === status) ?? 'other';
    const [error] = asObjects(errors);
    return {
      status: word,
      message_id: asString(id)?.slice(0, 500).toWellFormed(),
      ...(word === 'failed' && error ? { error: readError(error) } : {}),
    };
  });
}

export function countStatuses(statuses: readonly Status[]): StatusCounts {
  const counts: StatusCounts = {};
  for (const { status } of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function readError({ code, title, message }: Fields): { code: number; title: string } {
  const words = asString(title) ?? asString(message) ?? '';
  return { code: asCode(code), title: words.slice(0, 200).toWellFormed() };
}

/** Texts that people read and that the agent did not write. */
export const TEXTS = channelTexts('phonechat', {
  how_to_sign_in: [
    'How to sign in: near the end of a reply if the person must sign in first and SIGN_IN_URL is not set.',
    'Please sign in on our website, and connect this chat there.',
  ],
  text_only: [
    'The answer to content without text. {what} is one of the texts `phonechat_kind_…`.',
    'I can only read text, not {what}. Please describe it in words.',
  ],
  caption_only: [
    'The answer to content of which only the caption is read. {what} is one of the texts `phonechat_kind_…`.',
    'I can only read the text of your message, not {what}.',
  ],
  too_long: [
    'The answer to a message that is too long.',
    'Your message is too long: I can read up to {max} characters. Please send it in parts.',
  ],
});

/** Names of content types that people read (Cloud API, "messages webhook reference"). */
export const KINDS = {
  image: kind('image', 'pictures'),
  video: kind('video', 'videos'),
  audio: kind('audio', 'voice messages or audio'),
  document: kind('document', 'documents'),
  sticker: kind('sticker', 'stickers'),
  location: kind('location', 'locations'),
  contacts: kind('contacts', 'contacts'),
  order: kind('order', 'orders'),
  interactive: kind('interactive', 'forms'),
  other: kind('other', 'this kind of message', 'any other type'),
} as const;

function kind(name: string, english: string, type = `type ${name}`): ChannelText {
  return {
    name: `phonechat_kind_${name}`,
    sentence: `The value of {what} for content of ${type}.`,
    default: english,
  };
}
