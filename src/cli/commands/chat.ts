import { userInfo } from 'node:os';
import type { Command } from '../command.ts';
import { daemonAddress, URL_OPTION } from '../daemon-address.ts';
import { askHealth } from '../daemon-health.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

/** Longest user id that the daemon takes (decisions §1). */
const USER_MAX = 256;

export const command: Command = {
  name: 'chat',
  summary: 'Talk to the running daemon from the terminal.',
  description:
    'The answer is shown while it is written, with a line for the tool that is at work. A connection that breaks is made again, also to a daemon that was restarted meanwhile, and the answer goes on where it was. Ctrl-C stops the answer; a second one, or one at an empty prompt, leaves, as does Ctrl-D. The arrow keys bring earlier messages back; they are kept in memory only. Where standard input is no terminal, each of its lines is a message, and only the answers go to standard output. Exit code 1 when an answer failed, 69 when the daemon is out of reach. The channel must be on that answers on event streams (SSE_ENABLED).',
  options: [
    URL_OPTION,
    {
      flags: '--token [token]',
      sentence:
        'the user token to speak with: without a value it is asked for without echo, with `-` it is read from standard input, and the messages are typed on the terminal',
    },
    {
      flags: '--user <id>',
      sentence: "the `user_id` to speak as; default: the system's name of who runs the command",
    },
  ],
  examples: [
    { line: 'agentd chat', does: 'Talks to the daemon that these settings describe.' },
    {
      line: 'agentd chat --url https://chat.example.com --token',
      does: 'Talks to a daemon elsewhere as a signed-in person; the token is asked for.',
    },
    { line: 'agentd chat --token - < token.txt', does: 'Takes the token from a file.' },
    { line: 'agentd chat < questions.txt', does: 'Asks one question a line, and prints the answers.' },
  ],
  async run({ options, out }) {
    const user_id = userId(options.user);
    const url = await daemonAddress(options);
    const { readSpeaker } = await import('../chat/input.ts');
    const { token, input, close } = await readSpeaker(options.token, out.note);
    try {
      if (token !== null) await warnOfToken(token, url, out.note);
      const { eventStreamOf } = await import('../chat/endpoint.ts');
      const paths = await eventStreamOf(await askHealth(url));
      const [{ Service }, { Conversation }, { Screen }, { talk, answerLines }] = await Promise.all([
        import('../chat/service.ts'),
        import('../chat/conversation.ts'),
        import('../chat/screen.ts'),
        import('../chat/talk.ts'),
      ]);
      const conversation = new Conversation(new Service(url, paths, { user_id, token }));
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
  const given = typeof option === 'string' ? option : systemName();
  if (given !== '' && given.length <= USER_MAX && !/\p{Cc}/u.test(given)) return given;
  throw new CliError(EXIT.usage, `--user takes 1 to ${USER_MAX} characters without control characters`);
}

function systemName(): string {
  try {
    return userInfo().username || 'cli';
  } catch {
    // A process in a container may run as somebody who has no name.
    return 'cli';
  }
}

/** What is wrong with a token that can be seen from here; the daemon answers all the same, in general terms. */
async function warnOfToken(token: string, url: URL, note: (text: string) => void): Promise<void> {
  const { claimedExpiry, decodeToken, isWellFormed } = await import('../../daemon/identity/decode-token.ts');
  const decoded = decodeToken(token);
  const expiry = claimedExpiry(decoded);
  if (!isWellFormed(decoded)) note('warning: what was given is no token, so nobody is signed in');
  else if (expiry !== null && expiry <= Date.now())
    note('warning: the token has expired, so nobody is signed in; `agentd token verify` tells more');
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    note(`warning: the token goes to ${url.hostname} unencrypted; use https:// where there is one`);
}
