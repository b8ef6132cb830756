import type { Command as Commander } from 'commander';
import type { Command, CommandOption, Values } from '../command.ts';
import { plantCommands, shapeCommand } from '../command-parser.ts';
import { COMMON_OPTIONS } from '../program-help.ts';

/** A word that can be typed, and what it is. */
export interface Word {
  word: string;
  sentence: string;
}

/** What can be typed where a value stands: one of these words, a name of a file, or what nobody can know. */
export type ValueKind = readonly string[] | 'file' | 'directory' | 'free';

export interface OptionWords {
  /** All its writings: `-n`, `--lines`. */
  flags: readonly string[];
  sentence: string;
  /** Null: it takes none that must follow. */
  value: ValueKind | null;
}

/** What can be typed after one command. */
export interface CommandWords {
  /** The command as typed after `agentd`; empty for the program itself. */
  at: string;
  next: readonly Word[];
  options: readonly OptionWords[];
  /** By place. */
  args: readonly ValueKind[];
}

/** All that can be typed: what a script of completion is made of. */
export interface Vocabulary {
  commands: readonly CommandWords[];
  /** Options that are followed by a value, whatever the command. */
  valued: readonly string[];
}

/**
 * Reads the vocabulary off the parser of command lines itself, with every command loaded, so that it offers
 * neither more nor less than is taken.
 */
export async function readVocabulary(): Promise<Vocabulary> {
  const records = new Map<Commander, Promise<Command>>();
  const program = plantCommands(
    (leaf, entry) => records.set(leaf, entry.load()),
    (parser) => parser.configureHelp({ showGlobalOptions: true }),
  );
  const visit = async (parser: Commander, at: string): Promise<CommandWords[]> => {
    // Before it gets options of its own: of a command of which others begin, those do not take them.
    const below: CommandWords[] = [];
    for (const command of parser.commands)
      below.push(...(await visit(command, `${at} ${command.name()}`.trim())));
    const record = await records.get(parser);
    if (record) shapeCommand(parser, record);
    return [await commandWords(parser, at, record), ...below];
  };
  const commands = await visit(program, '');
  for (const word of commands.flatMap(wordsOf)) requirePlain(word);
  return { commands, valued: valuedOf(commands) };
}

async function commandWords(
  parser: Commander,
  at: string,
  { args = [], options = [] }: Pick<Command, 'args' | 'options'> = {},
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
        value: option.required ? await kindOf(values.get(option.flags)) : null,
      })),
    ),
    args: await Promise.all(args.map((argument) => kindOf(argument.values))),
  };
}

function wordsOf({ next, options, args }: CommandWords): string[] {
  const values = [...options.map(({ value }) => value), ...args].filter((value) => Array.isArray(value));
  return [...next.map(({ word }) => word), ...options.flatMap(({ flags }) => flags), ...values.flat()];
}

/** Scripts hold words as they are: nothing in one may mean anything to a shell. */
function requirePlain(word: string): void {
  if (!/^[A-Za-z0-9_.-]+$/.test(word)) throw new Error(`'${word}' cannot stand in a script as it is`);
}

async function kindOf(values: Values | undefined): Promise<ValueKind> {
  if (values === undefined) return 'free';
  return typeof values === 'function' ? await values() : values;
}

/** Scripts read a line without looking up whose option it is, so an option takes a value everywhere or nowhere. */
function valuedOf(commands: readonly CommandWords[]): string[] {
  const valued = new Set<string>();
  const plain = new Set<string>();
  for (const { flags, value } of commands.flatMap(({ options }) => options))
    for (const flag of flags) (value === null ? plain : valued).add(flag);
  const both = [...valued].filter((flag) => plain.has(flag));
  if (both.length > 0) throw new Error(`${both.join(', ')} takes a value with some commands only`);
  return [...valued].sort();
}
