import type { ChannelText } from '../../src/channel/index.ts';

/** Texts that people read and that the agent did not write. */
export const TEXTS = {
  text_only: text(
    'text_only',
    'The answer to content without text. {what} is one of the texts `phonechat_kind_…`.',
    'I can only read text, not {what}. Please describe it in words.',
  ),
  caption_only: text(
    'caption_only',
    'The answer to content of which only the caption is read. {what} is one of the texts `phonechat_kind_…`.',
    'I can only read the text of your message, not {what}.',
  ),
  too_long: text(
    'too_long',
    'The answer to a message that is too long.',
    'Your message is too long: I can read up to {max} characters. Please send it in parts.',
  ),
} as const;

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

function text(name: string, sentence: string, english: string): ChannelText {
  return { name: `phonechat_${name}`, sentence, default: english };
}

function kind(name: string, english: string, type = `type ${name}`): ChannelText {
  return text(`kind_${name}`, `The value of {what} for content of ${type}.`, english);
}
