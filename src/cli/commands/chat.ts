import { userInfo } from 'node:os';
import { Conversation } from '../chat/conversation.ts';
import { explainAnswer } from '../chat/explain-answer.ts';
import { openChatSession } from '../chat/open-chat-session.ts';
import { Prompt } from '../chat/prompt.ts';
import { Screen } from '../chat/screen.ts';
import { type ClaimedPerson, personInWords, readClaims } from '../chat/sign-in.ts';
import { SLASH_COMMANDS, slashCommandsInSentence } from '../chat/slash-commands.ts';
import { findEventStream, StreamClient } from '../chat/stream-client.ts';
import { answerLines, talk } from '../chat/talk.ts';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { daemonAddress, fetchHealth, URL_OPTION } from '../running-daemon.ts';
import { tokenIn } from '../terminal.ts';

/** Longest user id that the daemon accepts. */
const USER_MAX = 256;

export const command = defineCommand({
  description: [
    'Shows the answer while the agent writes it, and the tools that it uses. If the connection breaks, the command connects again, even after a restart of the daemon, and the answer continues.',
    'Ctrl-C stops the answer. A second Ctrl-C, or one at an empty prompt, leaves the chat, as does Ctrl-D. The arrow keys bring back earlier messages, which are kept in memory only.',
    slashCommandsInSentence(),
    'Exit code 1 if an answer failed, 69 if the daemon cannot be reached. The daemon needs a channel with event streams (SSE_ENABLED).',
  ].join('\n\n'),
  manual: [
    'On a terminal, answers are shown as Markdown: bold, lists, tables, code and links. Links can be clicked if the terminal is known to take them (OSC 8). What was done is shown with a sign: `✓` done, `✗` failed, `?` not known. A question that asks to confirm an action is shown as a card, which `y` or `n` and Enter answer; if it asks about several actions, their numbers confirm only those.',
    'If standard output is not a terminal, answers are written as they are, without control characters. If standard input is not a terminal, each of its lines is a message, and only the answers are written to standard output. `--token` without a value then asks for the token on the terminal. If there is no terminal, the token can only be the value of `--token`.',
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
      let person = token === null ? null : await readClaims(token, url, out.note);
      const paths = await findEventStream(await fetchHealth(url));
      const client = new StreamClient(url, paths, { user_id, token });
      const conversation = new Conversation(client);
      const { stdout, stderr } = process;
      const findName = (email: string) => (person?.email === email ? person.name : null);
      const isPlain = !stdout.isTTY || process.env.TERM === 'dumb';
      // Only this view needs the parser of Markdown.
      const view = isPlain
        ? new Screen(stdout, stderr)
        : new (await import('../chat/terminal-view.ts')).TerminalView(stdout, findName);
      const terminal = [stderr, stdout].find(({ isTTY }) => isTTY);
      if (!input.isTTY || !terminal) return await answerLines(conversation, view, input);
      out.note(`Connected to ${url.origin}.\n${whoInWords(person)}`);
      out.note('/help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves.\n\n');
      const prompt = new Prompt(input, terminal, Object.keys(SLASH_COMMANDS));
      return await talk(conversation, view, prompt, {
        async signIn(given) {
          const found = tokenIn(given ?? '', out.note);
          if (found === '') return view.note('No token was given, so nothing has changed.');
          const claimed = await readClaims(found, url, out.note);
          if (claimed === null && person !== null)
            return view.note(`Nothing has changed. ${whoInWords(person)}`);
          client.signIn(found);
          // A conversation belongs to one person.
          const isNew = person !== null && person.key !== claimed?.key;
          person = claimed;
          if (isNew) conversation.restart();
          view.note(`${whoInWords(person)}${isNew ? ' This is a new conversation.' : ''}`);
        },
        explain: (session_id) => explainAnswer(session_id, options, out),
      });
    } finally {
      close();
    }
  },
});

/** Who the person at the terminal is, as the token says. Only the daemon knows whether the token is valid. */
function whoInWords(person: ClaimedPerson | null): string {
  return person === null
    ? 'You are not signed in; /sign-in signs you in.'
    : `You write as ${personInWords(person)}.`;
}

function userId(given = loginName()): string {
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
