interface Entity {
  type: 'bot_command' | 'mention' | 'url' | 'email';
  /** In UTF-16 units. */
  offset: number;
  length: number;
}

/**
 * Patterns that the platform recognizes in a text. If two matches overlap, the pattern that comes first in this list
 * is used.
 */
const KINDS: readonly { type: Entity['type']; pattern: RegExp }[] = [
  { type: 'url', pattern: /https?:\/\/[^\s<>"]+/g },
  { type: 'email', pattern: /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g },
  { type: 'bot_command', pattern: /(?<![\w/])\/[a-zA-Z0-9_]{1,32}(?:@\w{3,32})?(?!\w)/g },
  { type: 'mention', pattern: /(?<!\w)@[a-zA-Z]\w{3,31}(?!\w)/g },
];

/** The entities of a text, in order (Bot API, "MessageEntity"). */
export function entitiesOf(text: string): Entity[] {
  const found: Entity[] = [];
  for (const { type, pattern } of KINDS) {
    for (const match of text.matchAll(pattern)) {
      const entity = { type, offset: match.index, length: match[0].length };
      if (!found.some((other) => overlap(other, entity))) found.push(entity);
    }
  }
  return found.sort((a, b) => a.offset - b.offset);
}

function overlap(a: Entity, b: Entity): boolean {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}
