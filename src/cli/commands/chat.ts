import { userInfo } from 'node:os';
import { Conversation } from '../chat/conversation.ts';
import { Screen } from '../chat/screen.ts';
import { findEventStream, StreamClient } from '../chat/stream-client.ts';
import { answerLines, openChatSession, talk } from '../chat/talk.ts';
import { usageError } from '../cli-error.ts';
import type { CommandRecord } from '../command.ts';
import { daemonAddress, fetchHealth, URL_OPTION } from '../running-daemon.ts';

/** Longest user id that the daemon accepts. */
const USER_MAX = 256;

export const command: CommandRecord = {
  description: [
    'Shows the answer while the agent writes it, with a status line for the tool that is running. If the connection breaks, the command connects again, even after a restart of the daemon, and the answer continues.',
    'Ctrl-C stops the answer. A second Ctrl-C, or one at an empty prompt, leaves the chat, as does Ctrl-D. The arrow keys bring back earlier messages, which are kept in memory only.',
    'If standard input is not a terminal, each of its lines is a message, and only the answers are written to standard output. `--token` without a value then asks for the token on the terminal. If there is no terminal, the token can only be the value of `--token`.',
    'Exit code 1 if an answer failed, 69 if the daemon cannot be reached. The daemon needs a channel with event streams (SSE_ENABLED).',
  ].join('\n\n'),
  options: {
    ...URL_OPTION,
    '--token [token]':
      'user token to sign in with; without a value, the command prompts for it without echo; `-` reads it from standard input, and the messages are typed on the terminal',
    '--user <id>': '`user_id` to use; default: the login name on this system',
  },
  examples: {
    'agentd chat': 'Talks to the daemon at the configured address.',
    'agentd chat --url https://chat.example.com --token':
      'Talks to a remote daemon as a signed-in person; asks for the token.',
    'agentd chat --token - < token.txt': 'Reads the token from a file.',
    'agentd chat < questions.txt': 'Sends each line as a question, and prints the answers.',
  },
  async run({ options, out }) {
    const user_id = userId(options.user);
    const url = await daemonAddress(options);
    const { token, input, close } = await openChatSession(options.token, out.note);
    try {
      if (token !== null) await warnAboutToken(token, url, out.note);
      const paths = await findEventStream(await fetchHealth(url));
      const conversation = new Conversation(new StreamClient(url, paths, { user_id, token }));
      const screen = new Screen(process.stdout, process.stderr);
      const terminal = [process.stderr, process.stdout].find(({ isTTY }) => isTTY);
      if (!input.isTTY || !terminal) return await answerLines(conversation, screen, input);
      out.note(`agentd at ${url.origin}. Ctrl-C stops an answer, Ctrl-D leaves.`);
      return await talk(conversation, screen, input, terminal);
    } finally {
      close();
    }
  },
};

function userId(option: unknown): string {
  const given = typeof option === 'string' ? option : loginName();
  if (given !== '' && given.length <= USER_MAX && !/\p{Cc}/u.test(given)) return given;
  throw usageError(`--user takes 1 to ${USER_MAX} characters, none of them a control character`);
}

function loginName(): string {
  try {
    return userInfo().username || 'cli';
  } catch {
    // In a container, the user of the process may have no name.
    return 'cli';
  }
}

/**
 * Warns about a token that is not usable, and about an unencrypted connection. The daemon still answers, but treats a
 * person without a usable token as not signed in.
 */
async function warnAboutToken(token: string, url: URL, note: (text: string) => void): Promise<void> {
  const { claimedExpiry, decodeToken, isWellFormed } = await import('../../daemon/admin/tokens.ts');
  const decoded = decodeToken(token);
  const expiry = claimedExpiry(decoded);
  if (!isWellFormed(decoded)) note('warning: this is not a token, so you are not signed in');
  else if (expiry !== null && expiry <= Date.now())
    note('warning: the token has expired, so you are not signed in; check it with `agentd token verify`');
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    note(`warning: the token is sent to ${url.hostname} unencrypted; use https:// if the server has it`);
}
