import type { CommandExample } from './command.ts';
import { COMMANDS } from './command-index.ts';
import { HELP_TOPICS } from './help-topics.ts';

/** Options that every command has, before or after its name. */
export const COMMON_OPTIONS = [
  {
    flags: '--config <file>',
    sentence: 'configuration file, instead of searching for one',
    values: 'file',
  },
  { flags: '--env-file <file>', sentence: 'file of environment variables, instead of .env', values: 'file' },
] as const;

export const VERSION_OPTION = { flags: '-V, --version', sentence: 'print the version' } as const;
/** Help for `--json`. */
export const JSON_SENTENCE = 'print one JSON document';
export const HELP_OPTION = {
  flags: '-h, --help',
  sentence: 'show help for the program or for a command',
} as const;

/** `agentd help`. It is not in the list of commands, because it shows the help of other commands. */
export const HELP_COMMAND = {
  name: 'help',
  argument: '[topic or command]',
  summary: 'Show the help of the program, of a topic or of a command.',
} as const;

/** The last section of a help text. */
export function examplesText(examples: readonly CommandExample[]): string {
  return `Examples:\n${examples.map(({ line, does }) => `  $ ${line}\n      ${does}`).join('\n')}`;
}

/** The first commands to try. */
const EXAMPLES: readonly CommandExample[] = [
  { line: 'agentd serve --dev', does: 'Runs the daemon here with nothing set up, to try it out.' },
  { line: 'agentd chat', does: 'Talks to it, in a second terminal.' },
];

/**
 * The help of the program: all commands, without their groups, and the topics. It is made from the index alone, so it
 * is printed without loading the command-line parser.
 */
export function programHelp(): string {
  const options = [...COMMON_OPTIONS, VERSION_OPTION, HELP_OPTION].map(({ flags, sentence }) => [
    flags,
    sentence,
  ]);
  const commands = [...COMMANDS, HELP_COMMAND].map(({ name, summary }) => [name, summary]);
  const topics = HELP_TOPICS.map(({ name, summary }) => [`help ${name}`, summary]);
  const width = Math.max(...[...options, ...commands, ...topics].map(([term = '']) => term.length));
  const lines = (rows: readonly (readonly string[])[]) =>
    rows.map(([term = '', sentence]) => `  ${term.padEnd(width)}  ${sentence}\n`).join('');
  return [
    'Usage: agentd <command> [options]\n',
    'A conversational agent daemon, and the tools to operate it.\n',
    `Commands:\n${lines(commands)}`,
    `Topics:\n${lines(topics)}`,
    `Options:\n${lines(options)}`,
    `${examplesText(EXAMPLES)}\n`,
    'Help for one command: `agentd <command> --help`.\n',
  ].join('\n');
}
