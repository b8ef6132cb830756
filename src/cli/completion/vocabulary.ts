import type { Command as Commander } from 'commander';
import type { Command, CommandOption, Values } from '../command.ts';
import { addDetails, createParser } from '../command-parser.ts';
import { COMMON_OPTIONS, HELP_COMMAND, HELP_TOPICS } from '../help.ts';

/** A word that can be typed, with its description. */
export interface Word {
  word: string;
  sentence: string;
}

/** What can be typed as a value: one of these words, the name of a file or directory, or anything. */
export type ValueKind = readonly string[] | 'file' | 'directory' | 'free';

export interface OptionWords {
  /** `-n`, `--lines`. */
  flags: readonly string[];
  sentence: string;
  /** Null if the option needs no value. */
  value: ValueKind | null;
}

/** The words that can be typed after one command. */
interface CommandWords {
  /** The command as it is typed after `agentd`; empty for the program itself. */
  at: string;
  next: readonly Word[];
  options: readonly OptionWords[];
  /** The kind of each argument, by position. */
  args: readonly ValueKind[];
}

/** All words that can be typed. The completion scripts are made from this record. */
export interface Vocabulary {
  commands: readonly CommandWords[];
  /** Each command as it is typed, except the program itself. */
  paths: readonly string[];
  /** The options that take a value. An option that takes a value in one command takes one in all commands. */
  valued: readonly string[];
}

/**
 * Reads the vocabulary from the command-line parser itself, with all commands loaded, so that it offers exactly the
 * words that are accepted.
 */
export async function readVocabulary(): Promise<Vocabulary> {
  const records = new Map<Commander, Promise<Command>>();
  const program = createParser(
    (parser, entry) => records.set(parser, entry.load()),
    (program) => program.configureHelp({ showGlobalOptions: true }),
  );
  const visit = async (parser: Commander, at: string): Promise<CommandWords[]> => {
    // Visit the subcommands before the parser gets its own options, because the options of a group do not belong to its
    // commands.
    const below: CommandWords[] = [];
    for (const command of parser.commands)
      below.push(...(await visit(command, `${at} ${command.name()}`.trim())));
    const record = await records.get(parser);
    if (record) addDetails(parser, record);
    return [await commandWords(parser, at, record), ...below];
  };
  const commands = withHelp(await visit(program, ''));
  const options = commands.flatMap((command) => command.options);
  const valued = options.filter(({ value }) => value !== null).flatMap(({ flags }) => flags);
  const paths = commands.map(({ at }) => at).filter((at) => at !== '');
  return { commands, paths, valued: [...new Set(valued)].sort() };
}

/** Adds `help`, which the parser does not know. A topic or a command follows it. */
function withHelp([program, ...others]: readonly CommandWords[]): CommandWords[] {
  if (program === undefined) throw new Error('the parser has no program');
  const topics = HELP_TOPICS.map(({ name, summary }) => ({ word: name, sentence: summary }));
  const commands = program.next.filter(({ word }) => !topics.some((topic) => topic.word === word));
  const { name, summary } = HELP_COMMAND;
  const all = { ...program, next: [...program.next, { word: name, sentence: summary }] };
  return [all, { at: name, next: [...topics, ...commands], options: [], args: [] }, ...others];
}

async function commandWords(
  parser: Commander,
  at: string,
  { args, options }: Pick<Command, 'args' | 'options'> = { args: [], options: [] },
): Promise<CommandWords> {
  const help = parser.createHelp();
  const values = new Map<string, Values | undefined>(
    [...COMMON_OPTIONS, ...options].map((option: CommandOption) => [option.flags, option.values]),
  );
  return {
    at,
    next: help
      .visibleCommands(parser)
      .map((command) => ({ word: command.name(), sentence: command.summary() || command.description() })),
    options: await Promise.all(
      [...help.visibleOptions(parser), ...help.visibleGlobalOptions(parser)].map(async (option) => ({
        flags: [option.short, option.long].filter((flag) => typeof flag === 'string'),
        sentence: option.description,
        value: option.required ? await resolveKind(values.get(option.flags)) : null,
      })),
    ),
    args: await Promise.all(args.map((argument) => resolveKind(argument.values))),
  };
}

async function resolveKind(values: Values | undefined): Promise<ValueKind> {
  if (values === undefined) return 'free';
  return typeof values === 'function' ? await values() : values;
}

/** The candidates for a value, and the patterns of `case` for its position: `logs:--level`, `completion:1`. */
interface ValueCase {
  patterns: readonly string[];
  kind: Exclude<ValueKind, 'free'>;
}

/**
 * The positions that have candidates: values of options, and arguments. They are patterns for shells that have `case`.
 * An option that has the same values in all commands is listed once.
 */
export function valueCases({ commands }: Vocabulary): ValueCase[] {
  const cases: ValueCase[] = [];
  const add = (patterns: readonly string[], kind: ValueKind) => {
    if (kind !== 'free') cases.push({ patterns, kind });
  };
  const options = commands.flatMap(({ at, options }) => options.map((option) => ({ at, ...option })));
  for (const { at, flags, value } of options) {
    if (value === null) continue;
    const same = options.filter((other) => other.flags.join() === flags.join());
    const everywhere = same.every((other) => String(other.value) === String(value));
    if (!everywhere)
      add(
        flags.map((flag) => `'${at}:${flag}'`),
        value,
      );
    else if (same[0]?.at === at)
      add(
        flags.map((flag) => `*':${flag}'`),
        value,
      );
  }
  for (const { at, args } of commands)
    for (const [index, kind] of args.entries()) add([`'${at}:${index + 1}'`], kind);
  return cases;
}
