import type { ChannelScope, ChannelText } from '../../src/channel/index.ts';
import type { ParsedCommand } from './parse.ts';
import { signedIn, TEXTS } from './texts.ts';

export interface CommandAnswer {
  text: string;
  /** Whether to delete the message, because it contains a token. */
  hidesMessage: boolean;
}

/**
 * Runs a command of the channel and returns the answer. A repeated delivery changes nothing and gets the same answer.
 * The outcome of linking is shown only in private chats.
 * @throws `unavailable` if the store is unreachable
 */
export async function answerCommand(
  { command, inPrivate, forwarded, user_id, place: { message_id, locale } }: ParsedCommand,
  scope: Pick<ChannelScope, 'links' | 'say'>,
): Promise<CommandAnswer> {
  const { links } = scope;
  const say = (text: ChannelText) => scope.say(text, {}, locale);
  if (command.name !== 'service_auth')
    return { text: say(inPrivate ? TEXTS.greeting : TEXTS.greeting_in_group), hidesMessage: false };
  const { argument } = command;
  const isOff = argument.toLowerCase() === 'off';
  const hidesMessage = argument !== '' && !isOff;
  if (!inPrivate) return { text: say(TEXTS.not_in_groups), hidesMessage };
  if (argument === '') return { text: say(TEXTS.token_missing), hidesMessage };
  // A person who forwards another person's message does not ask to sign in.
  if (forwarded) return { text: say(TEXTS.forwarded), hidesMessage };
  if (isOff) {
    const removed = await links.unlink(user_id, { message_id });
    return { text: say(removed ? TEXTS.signed_out : TEXTS.was_not_signed_in), hidesMessage };
  }
  const answer = await links.link(user_id, argument, { message_id });
  const text = answer.linked
    ? signedIn(scope, answer.email, answer.expires_at, answer.locale ?? locale)
    : scope.say(TEXTS.not_signed_in, { reason: answer.reason }, locale);
  return { text, hidesMessage };
}
