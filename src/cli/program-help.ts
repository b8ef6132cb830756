import { COMMANDS } from './command-index.ts';

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

/**
 * The help of the program: all commands, without their groups. It is made from the index alone, so it is printed
 * without loading the command-line parser.
 */
export function programHelp(): string {
  const options = [...COMMON_OPTIONS, VERSION_OPTION, HELP_OPTION].map(({ flags, sentence }) => [
    flags,
    sentence,
  ]);
  const commands = COMMANDS.map(({ name, summary }) => [name, summary]);
  const width = Math.max(...[...options, ...commands].map(([term = '']) => term.length));
  const lines = (rows: readonly (readonly string[])[]) =>
    rows.map(([term = '', sentence]) => `  ${term.padEnd(width)}  ${sentence}\n`).join('');
  return [
    'Usage: agentd <command> [options]\n',
    'A conversational agent daemon, and the tools to operate it.\n',
    `Commands:\n${lines(commands)}`,
    `Options:\n${lines(options)}`,
    'Help for one command: `agentd <command> --help`.\n',
  ].join('\n');
}
