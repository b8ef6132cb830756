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
  /** The message is to be deleted: it holds a token. */
  hidesMessage: boolean;
}

/**
 * Does what a command of the channel asks for, and says what to answer; a repeated delivery of it does nothing,
 * and is answered the same. The outcome of linking is told in a private chat only (decisions §4).
 * @throws `unavailable` where the store is out of reach
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
  // Whoever passes on another's message does not mean to become that person.
  if (forwarded) return { text: FORWARDED, hidesMessage };
  if (isOff) {
    const removed = await links.unlink(user_id, { message_id });
    return { text: removed ? SIGNED_OUT : WAS_NOT_SIGNED_IN, hidesMessage };
  }
  const answer = await links.link(user_id, argument, { message_id });
  const text = answer.linked ? signedIn(answer.email, answer.expires_at) : notSignedIn(answer.reason);
  return { text, hidesMessage };
}
