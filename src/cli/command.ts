import type { Output } from './output.ts';

/**
 * A command is a record and a function. Help, completion and manual page are made from the record. `run` imports what
 * it needs when it is called, so that start-up loads nothing for other commands.
 */
export interface Command {
  /** As typed: `token verify`. */
  name: string;
  summary: string;
  /** Paragraphs for help and manual page. */
  description?: string;
  args?: readonly CommandArgument[];
  options?: readonly CommandOption[];
  examples: readonly CommandExample[];
  /**
   * The program does not look for the settings of `serve --dev` for this command, because the command does not use them
   * or finds them itself.
   */
  ignoresDev?: boolean;
  /** The command prints data: it has the option `--json`. */
  json?: boolean;
  /** Help for `--json`, if it does not print one document. */
  jsonSentence?: string;
  /** Resolves to the exit code. Throws CliError for an expected failure. */
  run(call: CommandCall): Promise<number>;
}

/** A command line, and a sentence that says what it does. */
export interface CommandExample {
  line: string;
  does: string;
}

export interface CommandArgument {
  name: string;
  sentence: string;
  required?: boolean;
  variadic?: boolean;
  values?: Values;
}

/** The values that a shell offers for completion. The command itself decides whether a value is valid. */
export type Values = 'file' | 'directory' | readonly string[] | (() => Promise<readonly string[]>);

export interface CommandOption {
  /** In the syntax of commander: `--limit <n>`. */
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
