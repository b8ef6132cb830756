import { Command as Commander, Option } from 'commander';
import type { Command } from './command.ts';
import { COMMANDS, GROUPS, type IndexEntry } from './command-index.ts';
import { COMMON_OPTIONS, HELP_OPTION, JSON_SENTENCE, VERSION_OPTION } from './program-help.ts';
import { version } from './version.ts';

/**
 * The parser of command lines: every command in its place, by name and summary only. What a command takes is
 * added by `shapeCommand`, when it is known which one is meant.
 *
 * @param planted is told of each command, and of what it stands in.
 * @param prepare is handed the program before there are commands in it, which inherit from it.
 */
export function plantCommands(
  planted: (leaf: Commander, entry: IndexEntry, parent: Commander) => void,
  prepare: (program: Commander) => void = () => {},
): Commander {
  const program = new Commander('agentd')
    .version(version(), VERSION_OPTION.flags, VERSION_OPTION.sentence)
    .helpOption(HELP_OPTION.flags, HELP_OPTION.sentence)
    .helpCommand(false);
  prepare(program);
  for (const { flags, sentence } of COMMON_OPTIONS) program.option(flags, sentence);
  for (const entry of COMMANDS) {
    const words = entry.name.split(' ');
    const parent = words.length > 1 ? group(program, words[0] ?? '') : program;
    const leaf = parent
      .command(words.at(-1) ?? entry.name)
      .summary(entry.summary)
      .helpCommand(false);
    planted(leaf, entry, parent);
  }
  return program;
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

/** Gives a command its arguments, options and help from its record. */
export function shapeCommand(leaf: Commander, command: Command): void {
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
}
