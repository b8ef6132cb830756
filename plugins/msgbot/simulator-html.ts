/** Tags that the platform knows (Bot API, "HTML style"), with the types of their entities. */
const TAGS: Readonly<Record<string, string>> = {
  a: 'text_link',
  b: 'bold',
  blockquote: 'blockquote',
  code: 'code',
  del: 'strikethrough',
  em: 'italic',
  i: 'italic',
  ins: 'underline',
  pre: 'pre',
  s: 'strikethrough',
  span: 'spoiler',
  strike: 'strikethrough',
  strong: 'bold',
  'tg-emoji': 'custom_emoji',
  'tg-spoiler': 'spoiler',
  u: 'underline',
};
const CHARACTERS: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };
const TOKEN =
  /<(\/?)([a-z][a-z0-9-]*)((?:\s+[a-z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)*)\s*>|&(#x?[0-9a-f]+|[a-z]+);|[\s\S]/giu;

export interface ParsedHtml {
  text: string;
  entities: { type: string; offset: number; length: number; url?: string; language?: string }[];
}

/** Reads HTML as the platform does. A string is the platform's error. */
export function parseHtml(html: string): ParsedHtml | string {
  let text = '';
  const entities: ParsedHtml['entities'] = [];
  const open: { name: string; offset: number; attributes: string }[] = [];
  const at = (index: number) => Buffer.byteLength(html.slice(0, index));
  for (const { 0: token, 1: closing, 2: tag, 3: attributes = '', 4: character, index } of html.matchAll(
    TOKEN,
  )) {
    if (character !== undefined) text += decodeCharacter(character) ?? token;
    else if (tag === undefined) {
      if (token === '<') return `Unsupported start tag "" at byte offset ${at(index)}`;
      text += token;
    } else if (closing === '') {
      const name = tag.toLowerCase();
      if (!Object.hasOwn(TAGS, name)) return `Unsupported start tag "${name}" at byte offset ${at(index)}`;
      open.push({ name, offset: text.length, attributes });
    } else {
      const started = open.pop();
      if (!started) return `Unexpected end tag at byte offset ${at(index)}`;
      if (started.name !== tag.toLowerCase())
        return `Unmatched end tag at byte offset ${at(index)}, expected "</${started.name}>", found "</${tag}>"`;
      const length = text.length - started.offset;
      if (length > 0)
        entities.push({ type: TAGS[started.name] ?? '', offset: started.offset, length, ...extras(started) });
    }
  }
  const [left] = open;
  if (left) return `Can't find end tag corresponding to start tag "${left.name}"`;
  return {
    text,
    entities: withLanguages(entities).sort((a, b) => a.offset - b.offset || b.length - a.length),
  };
}

/** A text as the platform shows it, with the address of each link. The text may be no HTML. */
export function readable(html: string): string {
  const parsed = parseHtml(html);
  if (typeof parsed === 'string') return html;
  return parsed.entities.toReversed().reduce((text, { offset, length, url }) => {
    const end = offset + length;
    return url === undefined ? text : `${text.slice(0, end)} (${url})${text.slice(end)}`;
  }, parsed.text);
}

/** A code block with a language is one entity, although it has two tags. */
function withLanguages(entities: ParsedHtml['entities']): ParsedHtml['entities'] {
  const blocks = entities.filter(({ type }) => type === 'pre');
  return entities.flatMap((entity) => {
    const { type, language, ...range } = entity;
    if (type !== 'code') return [entity];
    const block = blocks.find(({ offset, length }) => offset === range.offset && length === range.length);
    if (block && language !== undefined) block.language = language;
    return block ? [] : [{ type, ...range }];
  });
}

function decodeCharacter(name: string): string | undefined {
  const code = /^#(?:x([0-9a-f]+)|(\d+))$/i.exec(name);
  if (!code) return CHARACTERS[name];
  const point = code[1] === undefined ? Number(code[2]) : Number.parseInt(code[1], 16);
  return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
}

function extras({ name, attributes }: { name: string; attributes: string }): {
  url?: string;
  language?: string;
} {
  const url = /href\s*=\s*["']?([^"'\s]*)/i.exec(attributes)?.[1];
  const language = /class\s*=\s*["']language-([^"']*)/i.exec(attributes)?.[1];
  return {
    ...(name === 'a' && url !== undefined ? { url: characters(url) } : {}),
    ...(name === 'code' && language !== undefined ? { language } : {}),
  };
}

function characters(text: string): string {
  return text.replace(/&(\w+);/g, (whole, name: string) => decodeCharacter(name) ?? whole);
}
