import type { Entity, Written } from './read-update.ts';

/** Who the bot is. Its name is asked of the platform; until it is known, null. */
export interface BotName {
  id: number;
  /** Without the `@`. */
  username: string | null;
}

/** A message and whether it is for the bot. */
export interface Addressed {
  /** `unclear`: that depends on the bot's name, which is not known yet. */
  isForBot: boolean | 'unclear';
  /** What was said, without the bot's name where that only called it. */
  text: string;
  command: Command | null;
}

export interface Command {
  /** In lower case, without its slash. */
  name: string;
  argument: string;
}

/** Commands as the platform recognises them; a hyphen, since people type it where they have read it elsewhere. */
const COMMAND = /^\/([a-z0-9_-]{1,32})(?:@([a-z0-9_]{1,64}))?(?=\s|$)/i;

/**
 * Is a message for the bot? In a private chat all are. In a group those that mention it, answer it, or begin
 * with a command, unless that names another bot (decisions §6).
 */
export function addressed(written: Written, bot: BotName): Addressed {
  const calls = written.entities.filter((entity) => isBots(entity, written.text, bot));
  const text = without(calls, written.text);
  const found = COMMAND.exec(text);
  const named = found?.[2] ?? null;
  const command = found && {
    name: (found[1] ?? '').toLowerCase().replaceAll('-', '_'),
    argument: text.slice(found[0].length).trim(),
  };
  const ours = named !== null && bot.username?.toLowerCase() === named.toLowerCase();
  // The name of the command alone is what the agent is to read.
  const spoken = found && ours ? `/${found[1]}${text.slice(found[0].length)}` : text;
  if (written.place === 'private') return { isForBot: true, text: spoken, command };
  const called = calls.length > 0 || written.answers === bot.id;
  if (named !== null && !ours)
    return { isForBot: bot.username === null ? 'unclear' : false, text: spoken, command: null };
  if (called || found) return { isForBot: true, text: spoken, command };
  const mayBeCalled = bot.username === null && written.entities.some(({ type }) => type === 'mention');
  return { isForBot: mayBeCalled ? 'unclear' : false, text: spoken, command: null };
}

function isBots({ type, offset, length, user }: Entity, text: string, { id, username }: BotName): boolean {
  if (type === 'text_mention') return user === id;
  const mention = text.slice(offset, offset + length).toLowerCase();
  return username !== null && mention === `@${username.toLowerCase()}`;
}

/** Cuts out the mentions, and what set them apart from the words: `@bot, when …`. */
function without(mentions: readonly Entity[], text: string): string {
  let rest = text;
  for (const { offset, length } of [...mentions].sort((a, b) => b.offset - a.offset)) {
    const before = rest.slice(0, offset);
    const after = rest.slice(offset + length).replace(/^\s*[,:]/, '');
    rest = `${before.trimEnd()} ${after.trimStart()}`;
  }
  return rest.toWellFormed().trim();
}
