import type { Output } from './output.ts';

/**
 * A command as its module writes it: a record and a function. Help, completion and manual page are made from the record.
 * `run` imports what it needs when it is called, so that start-up loads nothing for other commands.
 */
export interface CommandRecord {
  /** Paragraphs for help and manual page. */
  description?: string;
  /** By form: `<id>` is required, `[id]` is not, `[words...]` takes the rest. */
  args?: Terms<Pick<CommandOption, 'values'>>;
  /** By flags, in the syntax of commander: `--limit <n>`. */
  options?: Terms<Omit<CommandOption, 'flags' | 'sentence'>>;
  examples: CommandExamples;
  /**
   * The program does not look for the settings of `serve --dev` for this command, because the command does not use them
   * or finds them itself.
   */
  ignoresDev?: boolean;
  /** The command prints data: it has the option `--json`. */
  json?: boolean;
  /** Help for `--json`, if it does not print one document. */
  jsonSentence?: string;
  /** Resolves to the exit code; undefined is `EXIT.ok`. Throws CliError for an expected failure. */
  run(call: CommandCall): Promise<number | undefined>;
}

/** Arguments or options by their form: what each is, in one sentence, or the sentence with details. */
export type Terms<Details> = Readonly<Record<string, string | ({ sentence: string } & Details)>>;

/** What each command line does, in one sentence. */
export type CommandExamples = Readonly<Record<string, string>>;

/** A command with its name and summary, which the index has, and with its arguments and options as lists. */
export interface Command extends Omit<CommandRecord, 'args' | 'options'> {
  /** As typed: `token verify`. */
  name: string;
  summary: string;
  args: readonly CommandArgument[];
  options: readonly CommandOption[];
}

export interface CommandArgument {
  name: string;
  sentence: string;
  required: boolean;
  variadic: boolean;
  values?: Values;
}

/** The values that a shell offers for completion. The command itself decides whether a value is valid. */
export type Values = 'file' | 'directory' | readonly string[] | (() => Promise<readonly string[]>);

export interface CommandOption {
  flags: string;
  sentence: string;
  default?: string | number | boolean;
  /** The option may be given several times; its value is an array. */
  repeatable?: boolean;
  values?: Values;
}

export interface CommandCall {
  args: readonly string[];
  options: OptionValues;
  out: Output;
}

/**
 * The values of the options, by name in camelCase. They include the common options (`config`, `envFile`, `json`) and
 * `devSettings`.
 */
export type OptionValues = Readonly<Record<string, unknown>>;

export function completeCommand(name: string, summary: string, record: CommandRecord): Command {
  const terms = <Details>(of: Terms<Details> = {}) =>
    Object.entries(of).map(([form, about]) => ({
      form,
      ...(typeof about === 'string' ? { sentence: about } : about),
    }));
  return {
    ...record,
    name,
    summary,
    args: terms(record.args).map(({ form, ...about }) => ({
      name: form.replace(/^[<[]|(?:\.\.\.)?[>\]]$/g, ''),
      required: form.startsWith('<'),
      variadic: form.includes('...'),
      ...about,
    })),
    options: terms(record.options).map(({ form, ...about }) => ({ flags: form, ...about })),
  };
}
