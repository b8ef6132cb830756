import type { Command as Commander } from 'commander';

/**
 * A command is a record plus a function. Help and manual page are derived from the record;
 * `run` imports what it needs when it is called, so that start-up loads nothing for other commands.
 */
export interface Command {
  /** Words as typed: `token verify`. */
  name: string;
  summary: string;
  /** Paragraphs for help and manual page. */
  description?: string;
  args?: readonly CommandArgument[];
  options?: readonly CommandOption[];
  examples: readonly { line: string; does: string }[];
  /** It does not use the settings that `serve --dev` keeps in the working directory, or finds them itself. */
  ignoresDev?: boolean;
  /** Prints data: gets `--json`. */
  json?: boolean;
  /** What `--json` prints, where it is not one document. */
  jsonSentence?: string;
  /** Resolves to the exit code. Throws CliError for what is refused. */
  run(call: CommandCall): Promise<number>;
}

export interface CommandArgument {
  name: string;
  sentence: string;
  required?: boolean;
  variadic?: boolean;
  values?: Values;
}

/** What a shell offers where a value is to be typed; whether it is taken is for the command to say. */
export type Values = 'file' | 'directory' | readonly string[] | (() => Promise<readonly string[]>);

export interface CommandOption {
  /** As commander reads it: `--limit <n>`. */
  flags: string;
  sentence: string;
  default?: string | number | boolean;
  /** May be given several times; the value is an array. */
  repeatable?: boolean;
  values?: Values;
}

export interface CommandCall {
  args: readonly string[];
  /** By option name in camelCase; common ones (`config`, `envFile`, `json`) included, and `devSettings`. */
  options: Readonly<Record<string, unknown>>;
  out: import('./output.ts').Output;
}

export type { Commander };
