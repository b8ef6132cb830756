import type { ChannelLinks } from '../../src/channel/index.ts';
import type { ParsedCommand } from './parse.ts';
import {
  FORWARDED,
  GREETING,
  GREETING_IN_GROUP,
  NOT_IN_GROUPS,
  notSignedIn,
  SIGNED_OUT,
  signedIn,
  TOKEN_MISSING,
  WAS_NOT_SIGNED_IN,
} from './texts.ts';

export interface CommandAnswer {
  text: string;
  /** Delete the message: it holds a token. */
  hidesMessage: boolean;
}

/**
 * Runs a command of the channel and returns the answer. A repeated delivery changes nothing and gets the same answer.
 * The outcome of linking is shown only in private chats.
 * @throws `unavailable` if the store is out of reach
 */
export async function answerCommand(
  { command, inPrivate, forwarded, user_id, place: { message_id } }: ParsedCommand,
  links: ChannelLinks,
): Promise<CommandAnswer> {
  if (command.name !== 'service_auth')
    return { text: inPrivate ? GREETING : GREETING_IN_GROUP, hidesMessage: false };
  const { argument } = command;
  const isOff = argument.toLowerCase() === 'off';
  const hidesMessage = argument !== '' && !isOff;
  if (!inPrivate) return { text: NOT_IN_GROUPS, hidesMessage };
  if (argument === '') return { text: TOKEN_MISSING, hidesMessage };
  // A person who forwards another person's message does not ask to be linked.
  if (forwarded) return { text: FORWARDED, hidesMessage };
  if (isOff) {
    const removed = await links.unlink(user_id, { message_id });
    return { text: removed ? SIGNED_OUT : WAS_NOT_SIGNED_IN, hidesMessage };
  }
  const answer = await links.link(user_id, argument, { message_id });
  const text = answer.linked ? signedIn(answer.email, answer.expires_at) : notSignedIn(answer.reason);
  return { text, hidesMessage };
}
