import { Command as Commander, CommanderError, Option } from 'commander';
import type { Command } from './command.ts';
import { COMMANDS, GROUPS, type IndexEntry } from './command-index.ts';
import { devHint } from './dev-hint.ts';
import { EXIT } from './exit-codes.ts';
import { createOutput, type Sink } from './output.ts';
import { COMMON_OPTIONS, HELP_OPTION, JSON_SENTENCE, programHelp, VERSION_OPTION } from './program-help.ts';
import { reportError } from './report-error.ts';
import { version } from './version.ts';

export interface Streams {
  stdout: Sink;
  stderr: Sink;
  /** Where `serve --dev` may have left its settings, to be told of; absent: nobody looks. */
  cwd?: string;
}

/**
 * Runs one command line.
 *
 * @param argv what was typed after the program's name.
 * @returns the exit code (exit-codes.ts); never throws, never exits.
 */
export async function runProgram(argv: readonly string[], streams: Streams): Promise<number> {
  const result = { code: EXIT.ok as number };
  const program = buildProgram(streams, (code) => {
    result.code = code;
  });
  try {
    await program.parseAsync(helpAsOption(argv), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 && isAnswer(error) ? EXIT.ok : EXIT.usage;
    result.code = reportError(error, streams.stderr);
  }
  const hint =
    streams.cwd === undefined
      ? null
      : devHint(program.args[0] ?? '', result.code, program.opts(), streams.cwd);
  if (hint !== null) streams.stderr.write(`${hint}\n`);
  return result.code;
}

/** `help token verify` is typed as often as `token verify --help`. */
function helpAsOption(argv: readonly string[]): string[] {
  return argv[0] === 'help' ? [...argv.slice(1), HELP_OPTION.flags.split(', ')[0] ?? ''] : [...argv];
}

/** Help and version that were asked for; help that is shown for want of a command was not. */
function isAnswer(error: CommanderError): boolean {
  return error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
}

function buildProgram(streams: Streams, finish: (code: number) => void): Commander {
  const program = new Commander('agentd')
    .version(version(), VERSION_OPTION.flags, VERSION_OPTION.sentence)
    .helpOption(HELP_OPTION.flags, HELP_OPTION.sentence)
    .helpCommand(false)
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError('Try `agentd --help`.')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: fullName })
    .configureOutput({
      writeOut: (text) => streams.stdout.write(text),
      writeErr: (text) => streams.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error:/, 'agentd:')),
    });
  program.helpInformation = programHelp;
  for (const { flags, sentence } of COMMON_OPTIONS) program.option(flags, sentence);
  for (const entry of COMMANDS) addCommand(program, entry, streams, finish);
  return program;
}

/** Puts a command in its place, by name and summary only; the rest is loaded when it is called. */
function addCommand(program: Commander, entry: IndexEntry, streams: Streams, finish: (code: number) => void) {
  const words = entry.name.split(' ');
  const name = words.at(-1) ?? entry.name;
  const parent = words.length > 1 ? group(program, words[0] ?? '') : program;
  const leaf = parent
    .command(name)
    .summary(entry.summary)
    .helpCommand(false)
    .showHelpAfterError(`Try \`agentd ${entry.name} --help\`.`);
  parent.hook('preSubcommand', async (_parent, chosen) => {
    if (chosen === leaf && !leadsOn(parent, leaf)) describe(leaf, await entry.load(), streams, finish);
  });
}

/** A command of which others begin (`link`, `link list`) is only their group where one of them is meant. */
function leadsOn(parent: Commander, leaf: Commander): boolean {
  const next = parent.args.slice(1).find((argument) => !argument.startsWith('-'));
  return leaf.commands.some((command) => command.name() === next);
}

function group(program: Commander, name: string): Commander {
  return (
    program.commands.find((command) => command.name() === name) ??
    program
      .command(name)
      .description(GROUPS[name] ?? '')
      .helpCommand(false)
  );
}

/** Gives a command its arguments, options, help and action from its record. */
function describe(leaf: Commander, command: Command, streams: Streams, finish: (code: number) => void): void {
  leaf.description([command.summary, command.description].filter(Boolean).join('\n\n'));
  for (const { name, sentence, required, variadic } of command.args ?? []) {
    const word = variadic ? `${name}...` : name;
    leaf.argument(required ? `<${word}>` : `[${word}]`, sentence);
  }
  for (const option of command.options ?? []) {
    const made = new Option(option.flags, option.sentence);
    if (option.default !== undefined) made.default(option.default);
    if (option.repeatable)
      made.argParser((value, earlier: string[] | undefined) => [...(earlier ?? []), value]);
    leaf.addOption(made);
  }
  if (command.json) leaf.option('--json', command.jsonSentence ?? JSON_SENTENCE);
  const examples = command.examples.map(({ line, does }) => `  $ ${line}\n      ${does}`);
  leaf.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
  leaf.action(async () => {
    const options = leaf.optsWithGlobals();
    const out = createOutput({ json: options.json === true, ...streams });
    finish(await command.run({ args: leaf.args, options, out }));
  });
}

function fullName(command: Commander): string {
  const parent = command.parent;
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
}
