import {
  type ChannelText,
  type ConfirmationAnswer,
  channelTexts,
  type Fields,
  fieldsOf,
  objectsOf,
  readPressPayload,
} from '../../src/channel/index.ts';

/** A value of another type counts as missing. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An id, or a string of digits such as a phone number. Some gateways send these as JSON numbers. */
export function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : stringOf(value);
}

/** An error code as a number; NaN for any other value. */
export function codeOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

/** A text, trimmed and well-formed; undefined if it is empty. */
export function wordsOf(value: unknown): string | undefined {
  const words = stringOf(value)?.toWellFormed().trim();
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
export function contentOf(message: Fields): Content {
  const type = stringOf(message.type) ?? '';
  switch (type) {
    case 'text':
      return textOr(fieldsOf(message.text).body, NONE);
    case 'button':
      return textOr(fieldsOf(message.button).text, NONE);
    case 'interactive':
      return pressOr(fieldsOf(message.interactive), other(type));
    case 'edit':
      return editOf(fieldsOf(message.edit));
    case 'image':
    case 'video':
    case 'document':
      return other(type, wordsOf(fieldsOf(message[type]).caption));
    default:
      return type === '' || SILENT.has(type) ? NONE : other(type);
  }
}

function pressOr(interactive: Fields, otherwise: Content): Content {
  const confirm =
    interactive.type === 'button_reply' ? readPressPayload(fieldsOf(interactive.button_reply).id) : null;
  return confirm === null ? textOr(titleOf(interactive), otherwise) : { kind: 'press', confirm };
}

/** Title of the button or list row that the sender chose. */
function titleOf(interactive: Fields): unknown {
  switch (interactive.type) {
    case 'button_reply':
      return fieldsOf(interactive.button_reply).title;
    case 'list_reply':
      return fieldsOf(interactive.list_reply).title;
    default:
      return undefined;
  }
}

/** Reads the new text of a text or caption that was edited. */
function editOf({ original_message_id, message }: Fields): Content {
  const content = contentOf(fieldsOf(message));
  const text =
    content.kind === 'text' ? content.text : content.kind === 'other' ? content.caption : undefined;
  const message_id = stringOf(original_message_id);
  return message_id === undefined || text === undefined ? NONE : { kind: 'edit', message_id, text };
}

function textOr(value: unknown, otherwise: Content): Content {
  const text = wordsOf(value);
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
  return objectsOf(value).map(({ status, id, errors }) => {
    const word = WORDS.find((known) => known === status) ?? 'other';
    const [error] = objectsOf(errors);
    return {
      status: word,
      message_id: stringOf(id)?.slice(0, 500).toWellFormed(),
      ...(word === 'failed' && error ? { error: errorOf(error) } : {}),
    };
  });
}

/** Counts the statuses of each kind. */
export function countStatuses(statuses: readonly Status[]): StatusCounts {
  const counts: StatusCounts = {};
  for (const { status } of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function errorOf({ code, title, message }: Fields): { code: number; title: string } {
  const words = stringOf(title) ?? stringOf(message) ?? '';
  return { code: codeOf(code), title: words.slice(0, 200).toWellFormed() };
}

/** Texts that people read and that the agent did not write. */
export const TEXTS = channelTexts('phonechat', {
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
