import type { Output } from './output.ts';

/**
 * A command as its module writes it: a record and a function. Help, completion and manual page are made from the record.
 * `run` imports what it needs when it is called, so that start-up loads nothing for other commands.
 */
export interface CommandRecord {
  /** Paragraphs for help and manual page. */
  description?: string;
  /** More paragraphs, which only the manual page has. */
  manual?: string;
  /** By form: `<id>` is required, `[id]` is not, `[words...]` takes the rest. */
  args?: Terms<Pick<CommandOption, 'values' | 'isChannel'>>;
  /** By flags, in the syntax of commander: `--limit <n>`. */
  options?: OptionRecords;
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

/** Gives `run` the options of the record with their types. */
export function defineCommand<const O extends OptionRecords = Readonly<Record<never, string>>>(
  record: Omit<CommandRecord, 'options' | 'run'> & {
    options?: O;
    run(call: CommandCall<OptionValues<O>>): Promise<number | undefined>;
  },
): CommandRecord {
  return record as CommandRecord;
}

/** Arguments or options by their form: what each is, in one sentence, or the sentence with details. */
type Terms<Details> = Readonly<Record<string, string | ({ sentence: string } & Details)>>;

type OptionRecords = Terms<Omit<CommandOption, 'flags' | 'sentence'>>;

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

interface CommandArgument {
  name: string;
  sentence: string;
  required: boolean;
  variadic: boolean;
  values?: Values;
  isChannel?: true;
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
  /** The value names a channel. The command gets the channel's own name, however the person wrote it. */
  isChannel?: true;
}

export interface CommandCall<Values = Readonly<Record<string, unknown>>> {
  args: readonly string[];
  options: Values;
  out: Output;
}

/** The values of the common options and, by name in camelCase, of the options of a record. */
export type OptionValues<O extends OptionRecords = Readonly<Record<never, string>>> = {
  readonly config?: string;
  readonly envFile?: string;
  readonly json?: true;
  /** The settings of `serve --dev` that the command uses. */
  readonly devSettings?: Readonly<Record<string, string>>;
} & { readonly [F in keyof O as O[F] extends HasDefault ? OptionName<F> : never]: OptionValue<F, O[F]> } & {
  readonly [F in keyof O as O[F] extends HasDefault ? never : OptionName<F>]?: OptionValue<F, O[F]>;
};

type HasDefault = { readonly default: unknown };

/** `-r, --live-reads <n>` is `liveReads`. */
type OptionName<Flags> = Flags extends `${string}--${infer Long}`
  ? CamelCase<Long extends `${infer Name} ${string}` ? Name : Long>
  : never;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type OptionValue<Flags, About> = About extends { readonly repeatable: true }
  ? readonly string[]
  : Flags extends `${string}<${string}`
    ? string | (About extends { readonly default: infer Usual } ? Usual : never)
    : Flags extends `${string}[${string}`
      ? string | true
      : true;

function completeCommand(name: string, summary: string, record: CommandRecord): Command {
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

/**
 * All commands, in the order of the help. An entry has only what the program's help needs, and a function that loads
 * the rest. A command's module is imported only when the command is called or its own help is asked for, so that
 * start-up does not grow with the number of commands.
 */
export interface IndexEntry {
  /** As typed: `token verify`. Its module is commands/token-verify.ts. */
  name: string;
  summary: string;
  load(): Promise<Command>;
}

const SUMMARIES: Readonly<Record<string, string>> = {
  serve: 'Run the daemon in the foreground.',
  init: 'Write a configuration and an env file with generated secrets.',
  status: 'Show the channels of the running daemon and their state.',
  top: 'Watch what runs, waits and fails now, for each channel.',
  reload: 'Have the running daemons read their configuration again.',
  chat: 'Talk to the running daemon from the terminal.',
  'config check': 'Validate all settings.',
  'config show': 'Show the effective settings and where each comes from.',
  'config reference': 'Print the reference of all settings and texts.',
  'config schema': 'Print the JSON Schema of a kind of file.',
  'token verify': 'Check a user token step by step.',
  'token issue': 'Sign a user token for debugging.',
  link: 'Link a user of a channel to the person of a token.',
  'link list': 'List the links: which user, which person, until when.',
  'link remove': 'Remove the link of a user of a channel.',
  'sessions list': 'List sessions, newest activity first.',
  'sessions show': 'Show one session with its turns.',
  'sessions end': 'End a session: delete it with its turns.',
  'actions list': 'List what the agent did: for whom, and with what outcome.',
  explain: 'Explain why a message got its answer, or got none.',
  'feedback list': 'List what people thought of answers, newest first.',
  'feedback show': 'Show one rating with its comment, the message and the answer.',
  replay: 'Run the agent again on a recorded message, and compare.',
  eval: 'Run conversations as tests of the agent.',
  'eval add': 'Make a test of a recorded message, without the data of people.',
  'guard list': 'List the users and sessions that the loop guard blocks.',
  'guard reset': 'Unblock a user, a session or everyone.',
  'inbox list': 'List platform messages that are waiting or have failed, newest first.',
  'inbox show': 'Show one platform message: its text, its state, its reply.',
  'inbox retry': 'Retry one message, or all messages that have failed.',
  'inbox discard': 'Delete a platform message, so that it is not answered.',
  'memory list': 'List what is remembered about somebody, newest first.',
  'memory search': 'Search what is remembered about somebody, best match first.',
  'memory forget': 'Delete one or all memories about somebody.',
  'person show': 'Show everything that is stored about a person, as JSON.',
  'person erase': 'Delete everything that is stored about a person.',
  logs: 'Read the log file, filtered, and follow it.',
  'channels list': 'List the installed channels, active or not.',
  'channels setup': 'Register the webhook of a channel with its platform.',
  'channels new': 'Create a channel of your own: a TypeScript package with tests.',
  'tools list': 'List the tools of the agent.',
  'tools show': 'Show one tool of the agent: schema, policy, tokens and digest.',
  'tools call': 'Call one tool of the agent, signed in or not.',
  'tools trust': 'Accept a tool of an MCP server whose description or schema has changed.',
  'tools new': 'Create a tool of your own: a TypeScript module with its test.',
  simulate: 'Send a message as the platform of a channel would.',
  'keys list': 'List the keys that seal stored tokens, and how much each has sealed.',
  'keys rotate': 'Add a key that seals stored tokens from now on.',
  'keys remove': 'Remove an earlier key that is no longer used.',
  audit: 'List what administrators did, newest first.',
  backup: 'Copy the embedded store into a file, even while the daemon runs.',
  restore: 'Replace the embedded store with a backup.',
  doctor: 'Check that everything the daemon needs is present and works.',
  version: 'Print the version and commit, for a bug report.',
  completion: 'Print a shell script that completes agentd commands.',
};

export const COMMANDS: readonly IndexEntry[] = Object.entries(SUMMARIES).map(([name, summary]) => ({
  name,
  summary,
  async load() {
    const module = await import(`./commands/${name.replaceAll(' ', '-')}.ts`);
    return completeCommand(name, summary, (module as { command: CommandRecord }).command);
  },
}));

/** A group of commands (`sessions`, `token`, …): what its commands do, and one example for its help. */
interface CommandGroup {
  summary: string;
  example: CommandExamples;
}

/** `link` and `eval` are also commands themselves. */
export const GROUPS: Readonly<Record<string, CommandGroup>> = {
  config: {
    summary: 'Check, show and describe the settings.',
    example: {
      'agentd config check': 'Checks the settings that a daemon started in this directory would use.',
    },
  },
  token: {
    summary: 'Verify and issue user tokens.',
    example: { 'agentd token verify - < token.txt': 'Checks the token in a file.' },
  },
  link: {
    summary: 'Link users of channels to persons, list and remove links.',
    example: { 'agentd link list': 'Shows all links.' },
  },
  sessions: {
    summary: 'List, show and end sessions.',
    example: { 'agentd sessions show "$SESSION_ID"': 'Shows the whole conversation.' },
  },
  actions: {
    summary: 'List what the agent did.',
    example: { 'agentd actions list --since 2h': 'Shows what was done in the last two hours.' },
  },
  feedback: {
    summary: 'List and show what people thought of answers.',
    example: {
      'agentd feedback list --rating bad --since 7d':
        'Shows the answers of the last week that people disliked.',
    },
  },
  inbox: {
    summary: 'List, show, retry and discard platform messages.',
    example: { 'agentd inbox list': 'Shows the latest 20 messages that are waiting or have failed.' },
  },
  memory: {
    summary: 'List, search and delete what is remembered about somebody.',
    example: { 'agentd memory list --sub alice': 'Shows the memories of a person.' },
  },
  person: {
    summary: 'Show and delete everything that is stored about a person.',
    example: { 'agentd person show --sub alice': 'Shows what is stored about a person.' },
  },
  channels: {
    summary: 'List, register and create channels.',
    example: { 'agentd channels list': 'Shows all channels, and what inactive ones lack.' },
  },
  keys: {
    summary: 'List, add and remove the keys that seal stored tokens.',
    example: { 'agentd keys list': 'Shows whether the key from before a rotation is still used.' },
  },
  tools: {
    summary: 'List, show, call, create and trust tools of the agent.',
    example: { 'agentd tools list': 'Shows all tools with their policies.' },
  },
  eval: {
    summary: 'Run conversations as tests, and make tests of recorded messages.',
    example: { 'agentd eval add "$ID"': 'Prints the case.' },
  },
  guard: {
    summary: 'List and unblock users and sessions that the loop guard blocks.',
    example: { 'agentd guard list': 'Shows who is blocked, why, and for how long.' },
  },
};
