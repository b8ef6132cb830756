import { Command as Commander, Option } from 'commander';
import { version } from '../daemon/admin/program.ts';
import { COMMANDS, type Command, GROUPS, type IndexEntry } from './command.ts';
import {
  COMMON_OPTIONS,
  examplesText,
  HELP_OPTION,
  JSON_SENTENCE,
  manualText,
  VERSION_OPTION,
} from './help.ts';

/**
 * Creates the command-line parser: all commands, with name and summary only. Once it is known which command is called,
 * `addDetails` adds its arguments and options.
 *
 * @param added called for each command, with its group
 * @param prepare called with the program before its commands are added, because they inherit its configuration
 */
export function createParser(
  added: (parser: Commander, entry: IndexEntry, parent: Commander) => void,
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
    const parser = parent
      .command(words.at(-1) ?? entry.name)
      .summary(entry.summary)
      .helpCommand(false);
    added(parser, entry, parent);
  }
  return program;
}

function group(program: Commander, name: string): Commander {
  const existing = program.commands.find((command) => command.name() === name);
  if (existing) return existing;
  const made = program.command(name).helpCommand(false).showHelpAfterError(`Try \`agentd ${name} --help\`.`);
  const { summary, example } = GROUPS[name] ?? {};
  if (summary !== undefined) made.description(summary);
  if (example !== undefined) made.addHelpText('after', `\n${examplesText(example)}`);
  return made;
}

/** Adds the arguments, options and help of a command. */
export function addDetails(parser: Commander, command: Command): void {
  parser.description([command.summary, command.description].filter(Boolean).join('\n\n'));
  for (const { name, sentence, required, variadic } of command.args) {
    const word = variadic ? `${name}...` : name;
    parser.argument(required ? `<${word}>` : `[${word}]`, sentence);
  }
  for (const { flags, sentence, default: value, repeatable } of command.options) {
    const option = new Option(flags, sentence);
    if (value !== undefined) option.default(value);
    if (repeatable) option.argParser((one, earlier: string[] | undefined) => [...(earlier ?? []), one]);
    parser.addOption(option);
  }
  if (command.json) parser.option('--json', command.jsonSentence ?? JSON_SENTENCE);
  parser.addHelpText('after', `\n${examplesText(command.examples)}`);
  if (command.manual)
    parser.addHelpText('after', `\n${manualText([`agentd-${command.name.split(' ')[0]}`])}`);
}
