import type { Entity, Written } from './read-update.ts';

/**
 * The bot's identity. The name is null until the platform sends it. If the token does not contain the id, the id is
 * null until then, too.
 */
export interface BotName {
  id: number | null;
  /** Without the `@`. */
  username: string | null;
}

/** A message, and whether it is for the bot. */
export interface Addressed {
  /** `unclear`: this depends on the bot's name, which is not known yet. */
  isForBot: boolean | 'unclear';
  /** The text, without mentions of the bot. */
  text: string;
  command: Command | null;
}

export interface Command {
  /** In lower case, without the slash. */
  name: string;
  argument: string;
}

/**
 * A command, as the platform recognizes it. A hyphen is allowed as well, because people know `/service-auth` from other
 * platforms.
 */
const COMMAND = /^\/([a-z0-9_-]{1,32})(?:@([a-z0-9_]{1,64}))?(?=\s|$)/i;

/**
 * Decides whether a message is for the bot. In a private chat, every message is for the bot. In a group, it must
 * mention the bot, reply to it, or begin with a command that does not name another bot.
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
  // The agent reads the command without the bot's name.
  const spoken = found && ours ? `/${found[1]}${text.slice(found[0].length)}` : text;
  if (written.place === 'private') return { isForBot: true, text: spoken, command };
  const answersBot = written.answers !== null && written.answers === bot.id;
  const called = calls.length > 0 || answersBot;
  if (named !== null && !ours)
    return { isForBot: bot.username === null ? 'unclear' : false, text: spoken, command: null };
  if (called || found) return { isForBot: true, text: spoken, command };
  const mayAnswerBot = bot.id === null && written.answers !== null;
  const isMention = written.entities.some(({ type }) => type === 'mention');
  const mayBeCalled = bot.username === null && (mayAnswerBot || isMention);
  return { isForBot: mayBeCalled ? 'unclear' : false, text: spoken, command: null };
}

function isBots({ type, offset, length, user }: Entity, text: string, { id, username }: BotName): boolean {
  if (type === 'text_mention') return user !== null && user === id;
  const mention = text.slice(offset, offset + length).toLowerCase();
  return username !== null && mention === `@${username.toLowerCase()}`;
}

/** Removes mentions, and a comma or colon after each of them: `@bot, when …`. */
function without(mentions: readonly Entity[], text: string): string {
  let rest = text;
  for (const { offset, length } of [...mentions].sort((a, b) => b.offset - a.offset)) {
    const before = rest.slice(0, offset);
    const after = rest.slice(offset + length).replace(/^\s*[,:]/, '');
    rest = `${before.trimEnd()} ${after.trimStart()}`;
  }
  return rest.toWellFormed().trim();
}
