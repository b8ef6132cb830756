import { resolve } from 'node:path';
import { type Command as Commander, CommanderError } from 'commander';
import { nearest, printable, printableLines } from '../daemon/admin/texts.ts';
import { type CliError, EXIT, usageError } from './cli-error.ts';
import { COMMANDS, type Command, type CommandCall } from './command.ts';
import { addDetails, createParser } from './command-parser.ts';
import { findDevSettings, notUsingDevSettings, settingsHint, USING_DEV_SETTINGS } from './config-location.ts';
import { boldHeadings, findTopic, HELP_OPTION, HELP_TOPICS, programHelp, topicHelp } from './help.ts';
import { createOutput, hasColor, type Sink } from './output.ts';
import { reportError } from './report-error.ts';

interface Streams {
  stdout: Sink;
  stderr: Sink;
  /**
   * Directory in which `serve --dev` may have left its settings. If absent, those settings are not used, and no hint
   * about them is printed. They are used only if this is the working directory.
   */
  cwd?: string;
}

/**
 * Runs one command line.
 *
 * @param argv the arguments after the program's name
 * @returns the exit code; never throws, never exits
 */
export async function runProgram(argv: readonly string[], streams: Streams): Promise<number> {
  const [first, word = ''] = argv;
  if (first === 'help' && argv.length === 2) {
    const topic = findTopic(word);
    if (topic) {
      writeHelp(topicHelp(topic), streams.stdout);
      return EXIT.ok;
    }
  }
  if (first === 'help' && !word.startsWith('-') && word !== '' && !isCommandOrGroup(word))
    return reportError(noHelpFor(word), streams.stderr);
  const result = { code: EXIT.ok as number, usesDev: false };
  const program = buildProgram(streams, result);
  try {
    await program.parseAsync(helpAsOption(argv), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 && isAnswer(error) ? EXIT.ok : EXIT.usage;
    result.code = reportError(error, streams.stderr);
  }
  const ended = { ...result, options: program.opts() };
  const hint = streams.cwd === undefined ? null : settingsHint(ended, streams.cwd);
  if (hint !== null) streams.stderr.write(`${hint}\n`);
  return result.code;
}

function writeHelp(text: string, stdout: Sink): void {
  stdout.write(hasColor(stdout, process.env) ? boldHeadings(text) : text);
}

function isCommandOrGroup(word: string): boolean {
  return COMMANDS.some(({ name }) => name.split(' ')[0] === word);
}

/** The error for `agentd help` with an unknown word. The parser itself would show the help of the program. */
function noHelpFor(word: string): CliError {
  const names = [...HELP_TOPICS, ...COMMANDS].map(({ name }) => name.split(' ')[0] ?? name);
  const near = nearest(word, names, 2);
  return usageError(
    `there is no topic or command '${printable(word)}'`,
    near === undefined ? '`agentd help` lists them.' : `Did you mean \`agentd help ${near.name}\`?`,
  );
}

/** Makes `help token verify` work as `token verify --help` does. */
function helpAsOption(argv: readonly string[]): string[] {
  return argv[0] === 'help' ? [...argv.slice(1), HELP_OPTION.flags.split(', ')[0] ?? ''] : [...argv];
}

/** Whether help or the version was requested. Help is also shown if the command is missing, but that is wrong usage. */
function isAnswer(error: CommanderError): boolean {
  return error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
}

/** The outcome of a command. */
interface Result {
  code: number;
  /** The command used the settings of `serve --dev` in the working directory, or never does. */
  usesDev: boolean;
}

function buildProgram(streams: Streams, result: Result): Commander {
  const program = createParser(
    (parser, entry, parent) => {
      parser.showHelpAfterError(`Try \`agentd ${entry.name} --help\`.`);
      parent.hook('preSubcommand', async (_parent, chosen) => {
        if (chosen === parser && !isGroupOf(parent, parser))
          prepare(parser, await entry.load(), streams, result);
      });
    },
    (program) =>
      program
        .exitOverride()
        .showSuggestionAfterError()
        .showHelpAfterError('Try `agentd --help`.')
        .configureHelp({ showGlobalOptions: true, subcommandTerm: fullName })
        .configureOutput({
          writeOut: (text) => writeHelp(text, streams.stdout),
          writeErr: (text) => streams.stderr.write(printableLines(text)),
          outputError: (text, write) => write(text.replace(/^error:/, 'agentd:')),
        }),
  );
  program.helpInformation = programHelp;
  return program;
}

/**
 * Whether a subcommand was called, so that this command is only its group. For `agentd link list`, `link` is only the
 * group.
 */
function isGroupOf(parent: Commander, parser: Commander): boolean {
  const next = parent.args.slice(1).find((argument) => !argument.startsWith('-'));
  return parser.commands.some((command) => command.name() === next);
}

/** Adds arguments, options and action of a command. */
function prepare(parser: Commander, command: Command, streams: Streams, result: Result): void {
  addDetails(parser, command);
  parser.action(async () => {
    const options = parser.optsWithGlobals();
    const out = createOutput({ json: options.json === true, wide: options.wide === true, ...streams });
    const usesDev =
      !command.ignoresDev && streams.cwd !== undefined && resolve(streams.cwd) === process.cwd();
    const devSettings = usesDev ? await findDevSettings(options) : null;
    const note = devSettings ? USING_DEV_SETTINGS : usesDev && notUsingDevSettings(options, process.cwd());
    if (note) out.note(note);
    if (devSettings !== null) options.devSettings = devSettings;
    result.usesDev = devSettings !== null || command.ignoresDev === true;
    const call = await withChannelNames(command, { args: parser.args, options });
    result.code = (await command.run({ ...call, out })) ?? EXIT.ok;
  });
}

/** The call with the own name of each channel that is named. */
async function withChannelNames(
  { args: known, options: flags }: Command,
  { args, options }: Pick<CommandCall, 'args' | 'options'>,
): Promise<Pick<CommandCall, 'args' | 'options'>> {
  const named = async (value: string) =>
    (await import('./names/channel-words.ts')).channelNamed(value, options);
  const resolved: Record<string, unknown> = { ...options };
  for (const { flags: form, isChannel } of flags) {
    const name = /--([a-z]+)/.exec(form)?.[1] ?? '';
    const value = options[name];
    if (isChannel && typeof value === 'string') resolved[name] = await named(value);
  }
  const words = args.map((word, index) => (known[index]?.isChannel ? named(word) : word));
  return { args: await Promise.all(words), options: resolved };
}

function fullName(command: Commander): string {
  const parent = command.parent;
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
}
