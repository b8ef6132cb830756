import { COMMANDS } from './command-index.ts';

/** What every command takes, before or behind its name. */
export const COMMON_OPTIONS = [
  {
    flags: '--config <file>',
    sentence: 'configuration file, instead of the one that is found',
    values: 'file',
  },
  { flags: '--env-file <file>', sentence: 'file of environment variables, instead of .env', values: 'file' },
] as const;

export const VERSION_OPTION = { flags: '-V, --version', sentence: 'print the version' } as const;
/** Of the option `--json`. */
export const JSON_SENTENCE = 'print one JSON document';
export const HELP_OPTION = { flags: '-h, --help', sentence: 'show help, also of one command' } as const;

/**
 * The help of the program: every command that does something, not the groups that they stand in. Made from
 * the index alone, so that it is printed without loading the parser of command lines.
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
    'A conversational agent daemon, and what its operators need.\n',
    `Commands:\n${lines(commands)}`,
    `Options:\n${lines(options)}`,
    'What a command takes: `agentd <command> --help`.\n',
  ].join('\n');
}
