import type { ChannelScope, LinkAnswer, LinkRequest } from '../../src/channel/index.ts';

/** The platform waits 3 s for the answer to a command; ms. */
const ANSWER_MS = 2500;

/** The relevant fields of a slash command. */
export interface TypedCommand {
  command: string;
  text: string;
  user: string;
  /** Identifies this signed request. */
  request: string;
}

/** A response that only the person who typed the command sees. */
export interface CommandAnswer {
  response_type: 'ephemeral';
  text: string;
}

const HINT = 'To sign in, send `/service-auth` followed by your token. `/service-auth off` signs you out.';
const NOT_KNOWN = `I do not know this command. Ask me by mentioning me in a channel, or in a direct message. ${HINT}`;
/** An empty text is an invalid token: every failure begins with its mark and has the reason (agentd-teamchat(7)). */
const NO_TOKEN = `❌ You could not be signed in: JWT Malformed, because there is no token. ${HINT}`;
const SIGNED_OUT = '✅ You are signed out.';
const WAS_NOT_SIGNED_IN = '✅ You are signed out; you were not signed in before.';
const NOT_DONE = '❌ The service cannot store this at the moment. Please try again in a minute.';
const NOT_KNOWN_YET =
  '❌ This took too long, and I do not know whether it was done. Please try again in a minute.';

/**
 * Answers a slash command: `/service-auth <token>` links the sender to the person of the token, `/service-auth off`
 * removes the link (agentd-teamchat(7)). A repeated request changes nothing and gets the first answer. The same
 * command typed again is a new command.
 */
export async function answerCommand(
  { command, text, user, request }: TypedCommand,
  scope: ChannelScope,
): Promise<CommandAnswer> {
  if (command.toLowerCase() !== '/service-auth') return ephemeral(NOT_KNOWN);
  const argument = text.trim();
  if (argument === '') return ephemeral(NO_TOKEN);
  if (argument.toLowerCase() === 'help') return ephemeral(HINT);
  const isOff = argument.toLowerCase() === 'off';
  const asked = { message_id: `command:${request}` };
  const done = isOff ? signOut(user, asked, scope) : signIn(user, argument, asked, scope);
  return ephemeral(await inTime(done, scope));
}

async function signIn(user: string, token: string, asked: LinkRequest, scope: ChannelScope): Promise<string> {
  const answer = await scope.links.link(user, token, asked);
  return answer.linked ? confirmation(answer) : `❌ You could not be signed in: ${answer.reason}.`;
}

async function signOut(user: string, asked: LinkRequest, scope: ChannelScope): Promise<string> {
  return (await scope.links.unlink(user, asked)) ? SIGNED_OUT : WAS_NOT_SIGNED_IN;
}

function confirmation({ email, expires_at }: Extract<LinkAnswer, { linked: true }>): string {
  const until = new Date(expires_at).toISOString().slice(0, 16).replace('T', ' ');
  return `✅ You are signed in as ${escaped(email)} until ${until} (UTC). \`/service-auth off\` signs you out.`;
}

/** The person gets a sentence. Otherwise the platform would show an error code. */
async function inTime(work: Promise<string>, { log }: ChannelScope): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS, NOT_KNOWN_YET);
  });
  const done = work.catch((error: unknown) => {
    log.error({ err: error }, 'a command failed');
    return NOT_DONE;
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

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
