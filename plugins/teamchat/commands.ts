import type { ChannelRequest, ChannelScope, LinkAnswer, LinkRequest } from '../../src/channel/index.ts';
import { formatMinute } from '../../src/channel/index.ts';
import { dateMarkup, escapeText } from './read-text.ts';
import { TEXTS } from './texts.ts';

/**
 * How long the outcome of a command may take, in ms. After that, the answer says that it took too long. The platform
 * waits 3 s.
 */
const ANSWER_MS = 2500;

/** The relevant fields of a slash command. */
interface TypedCommand {
  command: string;
  text: string;
  user: string;
  /** Identifies this signed request, also if the platform repeats it. */
  signed: string;
}

/** A response that only the person who typed the command sees. */
interface CommandAnswer {
  response_type: 'ephemeral';
  text: string;
}

/**
 * Answers a slash command: `/service-auth <token>` links the sender to the person of the token, `/service-auth off`
 * removes the link (agentd-teamchat(7)). A repeated request changes nothing and gets the first answer. If a person
 * types the same command again, that is a new command.
 */
export async function answerCommand(
  { command, text, user, signed }: TypedCommand,
  request: ChannelRequest,
  scope: ChannelScope,
): Promise<CommandAnswer> {
  if (command.toLowerCase() !== '/service-auth') return ephemeral(scope.say(TEXTS.unknown_command));
  const argument = text.trim();
  if (argument === '') return ephemeral(scope.say(TEXTS.token_missing));
  if (argument.toLowerCase() === 'help') return ephemeral(scope.say(TEXTS.sign_in_help));
  const isOff = argument.toLowerCase() === 'off';
  const asked = { message_id: `command:${signed}`, request };
  const done = isOff ? signOut(user, asked, scope) : signIn(user, argument, asked, scope);
  return ephemeral(await inTime(done, request, scope));
}

async function signIn(user: string, token: string, asked: LinkRequest, scope: ChannelScope): Promise<string> {
  const answer = await scope.links.link(user, token, asked);
  return answer.linked
    ? confirmation(answer, scope)
    : scope.say(TEXTS.not_signed_in, { reason: answer.reason });
}

async function signOut(user: string, asked: LinkRequest, scope: ChannelScope): Promise<string> {
  return (await scope.links.unlink(user, asked))
    ? scope.say(TEXTS.signed_out)
    : scope.say(TEXTS.was_not_signed_in);
}

function confirmation(
  { email, expires_at, locale, timezone }: Extract<LinkAnswer, { linked: true }>,
  scope: ChannelScope,
): string {
  const time = dateMarkup(expires_at, '{date_short_pretty} at {time}', formatMinute(expires_at, timezone));
  return scope.say(TEXTS.signed_in, { email: escapeText(email), time }, locale);
}

/**
 * If the work takes too long, the person gets a text that says so. Otherwise, the platform would show an error code.
 */
async function inTime(work: Promise<string>, request: ChannelRequest, scope: ChannelScope): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS, scope.say(TEXTS.not_known_yet));
  });
  const done = work.catch((error: unknown) => {
    scope.log.error({ request_id: request.id, err: error }, 'a command failed');
    return scope.say(TEXTS.not_done);
  });
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}

function ephemeral(text: string): CommandAnswer {
  return { response_type: 'ephemeral', text };
}
