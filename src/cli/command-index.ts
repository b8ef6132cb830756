import type { Command } from './command.ts';

/**
 * All commands, in the order of the help: what the help of the program needs, and how to get the rest.
 * A command's module is imported only when it is called, or its own help is asked for: start-up must not
 * grow with the number of commands. test/rules/commands.test.ts holds names and summaries equal.
 */
export interface IndexEntry {
  /** Words as typed: `token verify`. */
  name: string;
  summary: string;
  load(): Promise<Command>;
}

export const COMMANDS: readonly IndexEntry[] = [
  {
    name: 'serve',
    summary: 'Run the daemon in the foreground.',
    load: async () => (await import('./commands/serve.ts')).command,
  },
  {
    name: 'status',
    summary: 'Show the channels of the running daemon and their state.',
    load: async () => (await import('./commands/status.ts')).command,
  },
  {
    name: 'chat',
    summary: 'Talk to the running daemon from the terminal.',
    load: async () => (await import('./commands/chat.ts')).command,
  },
  {
    name: 'config check',
    summary: 'Validate all settings.',
    load: async () => (await import('./commands/config-check.ts')).command,
  },
  {
    name: 'config show',
    summary: 'Show the effective settings and where each comes from.',
    load: async () => (await import('./commands/config-show.ts')).command,
  },
  {
    name: 'config reference',
    summary: 'Print the reference of all settings.',
    load: async () => (await import('./commands/config-reference.ts')).command,
  },
  {
    name: 'token verify',
    summary: 'Check a user token step by step.',
    load: async () => (await import('./commands/token-verify.ts')).command,
  },
  {
    name: 'token issue',
    summary: 'Sign a user token for debugging.',
    load: async () => (await import('./commands/token-issue.ts')).command,
  },
  {
    name: 'link',
    summary: 'Link a user of a channel to the person of a token.',
    load: async () => (await import('./commands/link.ts')).command,
  },
  {
    name: 'link list',
    summary: 'List who is linked to which person, and until when.',
    load: async () => (await import('./commands/link-list.ts')).command,
  },
  {
    name: 'link remove',
    summary: 'Remove the link of a user of a channel.',
    load: async () => (await import('./commands/link-remove.ts')).command,
  },
  {
    name: 'sessions list',
    summary: 'List sessions, newest activity first.',
    load: async () => (await import('./commands/sessions-list.ts')).command,
  },
  {
    name: 'sessions show',
    summary: 'Show one session with its turns.',
    load: async () => (await import('./commands/sessions-show.ts')).command,
  },
  {
    name: 'sessions end',
    summary: 'End a session: it and its turns are deleted.',
    load: async () => (await import('./commands/sessions-end.ts')).command,
  },
  {
    name: 'explain',
    summary: 'Tell why a conversation went as it did.',
    load: async () => (await import('./commands/explain.ts')).command,
  },
  {
    name: 'guard list',
    summary: 'Show whom the loop guard blocks.',
    load: async () => (await import('./commands/guard-list.ts')).command,
  },
  {
    name: 'guard reset',
    summary: 'Let a user, a session or everyone through again.',
    load: async () => (await import('./commands/guard-reset.ts')).command,
  },
  {
    name: 'inbox list',
    summary: 'List the messages of platforms that wait or have failed, newest first.',
    load: async () => (await import('./commands/inbox-list.ts')).command,
  },
  {
    name: 'inbox show',
    summary: 'Show one message of a platform: its text, its state, its reply.',
    load: async () => (await import('./commands/inbox-show.ts')).command,
  },
  {
    name: 'inbox retry',
    summary: 'Retry a failed message or all of them, or one that waits.',
    load: async () => (await import('./commands/inbox-retry.ts')).command,
  },
  {
    name: 'inbox discard',
    summary: 'Delete a message of a platform: it is not answered any more.',
    load: async () => (await import('./commands/inbox-discard.ts')).command,
  },
  {
    name: 'logs',
    summary: 'Read the log file, filtered, and follow it.',
    load: async () => (await import('./commands/logs.ts')).command,
  },
  {
    name: 'channels list',
    summary: 'List the channels that are installed, active or not.',
    load: async () => (await import('./commands/channels-list.ts')).command,
  },
  {
    name: 'channels new',
    summary: 'Begin a channel of your own: a TypeScript package with its tests.',
    load: async () => (await import('./commands/channels-new.ts')).command,
  },
  {
    name: 'simulate',
    summary: 'Write to the daemon as the platform of a channel would.',
    load: async () => (await import('./commands/simulate.ts')).command,
  },
  {
    name: 'doctor',
    summary: 'Check whether everything that the daemon needs is there and works.',
    load: async () => (await import('./commands/doctor.ts')).command,
  },
  {
    name: 'completion',
    summary: 'Print a script with which a shell completes the commands of agentd.',
    load: async () => (await import('./commands/completion.ts')).command,
  },
];

/** What `sessions`, `token`, … hold together; but for `link` a group is no command of its own. */
export const GROUPS: Readonly<Record<string, string>> = {
  config: 'Check, show and describe the settings.',
  token: 'Verify and issue user tokens.',
  link: 'Link users of channels to persons, list and remove links.',
  sessions: 'List, show and end sessions.',
  inbox: 'Show, retry and discard messages of platforms.',
  channels: 'List the channels that are installed, and begin one of your own.',
  guard: 'Show whom the loop guard blocks, and reset it.',
};
