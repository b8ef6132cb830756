import { type ChannelRequest, channelTexts, type LinkAnswer, type PushScope } from 'agentd/channel';
import { ID } from './settings.ts';

/** Operators can replace these texts, and translate them. */
export const TEXTS = channelTexts('pigeonpost', {
  how_to_sign_in: [
    'How to sign in: near the end of a reply if the person must sign in first and SIGN_IN_URL is not set.',
    'To sign in, send /sign-in followed by the token from our website.',
  ],
});

/** A command that a person typed, such as `/sign-in`. */
export interface Command {
  id: string;
  user_id: string;
  name: string;
  argument: string;
}

/**
 * Reads a command, which this platform delivers as a form: `id`, `from`, `command`, `text`.
 * @returns null if the platform would not send this form
 */
export function parseCommand(form: URLSearchParams): Command | null {
  const id = form.get('id') ?? '';
  const user_id = form.get('from') ?? '';
  const name = form.get('command') ?? '';
  if (!ID.test(id) || !ID.test(user_id) || !/^\/[a-z-]{1,32}$/.test(name)) return null;
  return { id, user_id, name, argument: (form.get('text') ?? '').trim() };
}

/** Runs a command and answers the person in private, never in the room: others must not learn who is signed in. */
export async function carryOut(command: Command, request: ChannelRequest, scope: PushScope): Promise<void> {
  const { id, user_id } = command;
  // With the message id, a command that the platform delivers twice is run and answered only once.
  const text = await runCommand(command, request, scope);
  await scope.notify({ room: user_id }, text, { message_id: id, user_id });
}

async function runCommand(
  { id: message_id, user_id, name, argument }: Command,
  request: ChannelRequest,
  { links }: PushScope,
): Promise<string> {
  if (name === '/sign-in') return inWords(await links.link(user_id, argument, { message_id, request }));
  if (name === '/sign-out') {
    const wasLinked = await links.unlink(user_id, { message_id, request });
    return wasLinked ? 'You are signed out.' : 'You were not signed in.';
  }
  return 'The commands are /sign-in TOKEN and /sign-out.';
}

function inWords(answer: LinkAnswer): string {
  return answer.linked ? `You are signed in as ${answer.email}.` : `You are not signed in: ${answer.reason}.`;
}
