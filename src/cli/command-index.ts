import type { Command } from './command.ts';

/**
 * All commands, in the order of the help: the part that the help of the program needs, and how to load the rest.
 * A command's module is imported only when the command is called or its own help is asked for, so that start-up does
 * not grow with the number of commands. test/rules/commands.test.ts keeps names and summaries equal.
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
  chat: 'Talk to the running daemon from the terminal.',
  'config check': 'Validate all settings.',
  'config show': 'Show the effective settings and where each comes from.',
  'config reference': 'Print the reference of all settings and texts.',
  'token verify': 'Check a user token step by step.',
  'token issue': 'Sign a user token for debugging.',
  link: 'Link a user of a channel to the person of a token.',
  'link list': 'List the links: which user, which person, until when.',
  'link remove': 'Remove the link of a user of a channel.',
  'sessions list': 'List sessions, newest activity first.',
  'sessions show': 'Show one session with its turns.',
  'sessions end': 'End a session: delete it with its turns.',
  'actions list': 'List what the agent did: for whom, and with what outcome.',
  explain: 'Explain why a conversation went as it did.',
  'guard list': 'List the users and sessions that the loop guard blocks.',
  'guard reset': 'Unblock a user, a session or everyone.',
  'inbox list': 'List platform messages that are waiting or have failed, newest first.',
  'inbox show': 'Show one platform message: its text, its state, its reply.',
  'inbox retry': 'Retry one message, or all messages that have failed.',
  'inbox discard': 'Delete a platform message: it is no longer answered.',
  'memory list': 'List what is remembered of somebody, newest first.',
  'memory search': 'Search what is remembered of somebody, best match first.',
  'memory forget': 'Delete one memory of somebody, or all.',
  'person show': 'Show everything that is stored of a person, as JSON.',
  'person erase': 'Delete everything that is stored of a person.',
  logs: 'Read the log file, filtered, and follow it.',
  'channels list': 'List the installed channels, active or not.',
  'channels setup': 'Register the webhook of a channel with its platform.',
  'channels new': 'Create a channel of your own: a TypeScript package with tests.',
  'tools list': 'List the tools of the agent.',
  'tools call': 'Call one tool of the agent, as a person or as nobody.',
  'tools trust': 'Accept a tool of an MCP server whose description or schema has changed.',
  'tools new': 'Create a tool of your own: a TypeScript module with its test.',
  simulate: 'Send a message to the daemon as the platform of a channel would.',
  'keys list': 'List the keys that seal stored tokens, and how much each has sealed.',
  'keys rotate': 'Add a key that seals stored tokens from now on.',
  'keys remove': 'Remove an earlier key that has sealed nothing any more.',
  audit: 'List what administrators did, newest first.',
  backup: 'Copy the embedded store into a file, also while the daemon runs.',
  restore: 'Put a backup back in the place of the embedded store.',
  doctor: 'Check that everything the daemon needs is present and works.',
  version: 'Print the versions of the program, its runtime and its store, and the platform.',
  completion: 'Print a shell script that completes agentd commands.',
};

export const COMMANDS: readonly IndexEntry[] = Object.entries(SUMMARIES).map(([name, summary]) => ({
  name,
  summary,
  async load() {
    const { command } = (await import(`./commands/${name.replaceAll(' ', '-')}.ts`)) as { command: Command };
    return command;
  },
}));

/** What the commands of a group (`sessions`, `token`, …) do together. Only `link` is also a command itself. */
export const GROUPS: Readonly<Record<string, string>> = {
  config: 'Check, show and describe the settings.',
  token: 'Verify and issue user tokens.',
  link: 'Link users of channels to persons, list and remove links.',
  sessions: 'List, show and end sessions.',
  actions: 'List what the agent did.',
  inbox: 'List, show, retry and discard platform messages.',
  memory: 'List, search and delete what is remembered of somebody.',
  person: 'Show and delete everything that is stored of a person.',
  channels: 'List the installed channels, register them with their platforms, and create one of your own.',
  keys: 'List, add and remove the keys that seal stored tokens.',
  tools: 'List, call, create and trust tools of the agent.',
  guard: 'List and unblock the users and sessions that the loop guard blocks.',
};
