import { nearest, printable } from '../../daemon/admin/texts.ts';

/** The commands of a chat on a terminal, and what each does. */
export const SLASH_COMMANDS = {
  '/help': 'lists these commands',
  '/new': 'begins a new conversation',
  '/sign-in': 'signs in with a token, which is not shown',
  '/explain': 'explains the last answer, as `agentd explain` does',
  '/quit': 'leaves, as Ctrl-D does',
} as const;

export type SlashCommand = keyof typeof SLASH_COMMANDS;

const NEEDS_SPACE = 'A message that begins with / needs a space before it.';

/**
 * The command in a line; null if the line is a message. A command is alone on its line, so that a message may begin with
 * a path. What follows a command is never sent: after `/sign-in`, it is probably a token.
 * @returns a note for the person if it looks like a command, but is none
 */
export function slashCommandIn(line: string): { command: SlashCommand } | { note: string } | null {
  const [, word, rest] = /^(\/[a-z-]*)(?:\s+(.*))?$/is.exec(line.trimEnd()) ?? [];
  if (word === undefined) return null;
  const given = word.toLowerCase();
  const isCommand = Object.hasOwn(SLASH_COMMANDS, given);
  if (rest !== undefined)
    return isCommand
      ? { note: `${given} must be alone on its line, so nothing was sent. ${NEEDS_SPACE}` }
      : null;
  if (isCommand) return { command: given as SlashCommand };
  const near = nearest(given, Object.keys(SLASH_COMMANDS), 2);
  const meant = near === undefined ? '' : ` Did you mean ${near.name}?`;
  return {
    note: `There is no command ${printable(word)}.${meant} /help lists the commands. ${NEEDS_SPACE}`,
  };
}

export function slashCommandsInWords(): string {
  const rows = Object.entries(SLASH_COMMANDS);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, does]) => `${name.padEnd(width)}  ${does}`).join('\n');
}

/** For the manual page. */
export function slashCommandsInSentence(): string {
  const does = Object.entries(SLASH_COMMANDS).map(([name, words]) => `\`${name}\` ${words}`);
  return `Commands of the chat: ${does.join('; ')}. A message that begins with a slash needs a space before it.`;
}
