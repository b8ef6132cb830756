/** The only elements that Markdown can produce. The widget creates no other elements from an agent's text. */
export const TAGS = [
  'p',
  'h3',
  'h4',
  'ul',
  'ol',
  'li',
  'blockquote',
  'pre',
  'hr',
  'table',
  'thead',
  'tbody',
  'tr',
  'th',
  'td',
  'code',
  'strong',
  'em',
  'del',
  'br',
  'a',
] as const;

export type Tag = (typeof TAGS)[number];

/** A piece of a message: text, or an allowed element that contains pieces. */
export type Piece = string | Element;

export interface Element {
  tag: Tag;
  children: Piece[];
  /** Only for `a`: an absolute http, https or mailto address. */
  href?: string;
  /** Only for `ol`: the number of its first item. */
  start?: number;
  /** Only for `th` and `td`: the alignment of the column. */
  align?: 'left' | 'center' | 'right';
  /** Only for `li`: an item of a task list, and whether it is done. */
  done?: boolean;
}

export function element(tag: Tag, children: Piece[] = []): Element {
  return { tag, children };
}

/** Emphasis that is nested deeper is shown as text. */
const MAX_DEPTH = 6;

/** Characters at which something other than plain text may begin. */
const SPECIAL = /\\|`+|\*\*|__|~~|[*_[<\n]|!\[|https?:\/\//g;
/** `[words](address "title")`. The length of each part is limited, so that no text can make the match slow. */
const LINK =
  /!?\[([^[\]\n]{0,1000})\]\([ \t]{0,9}<?((?:[^\s()<>]|\([^\s()<>]{0,500}\)){1,2000})>?(?:[ \t]{1,9}"[^"\n]{0,500}")?[ \t]{0,9}\)/y;
const ANGLE_LINK = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y;
const BARE_LINK = /https?:\/\/[^\s<>`|\\]{1,2000}/y;
const PUNCTUATION = /[!-/:-@[-`{-~]/;

/** Patterns for the end of emphasis: not after a space, and not part of a longer mark. */
const MARKS: Readonly<Record<string, { tag: Tag; close: RegExp }>> = {
  '**': { tag: 'strong', close: /(?<=[^\s])\*\*(?!\*)/g },
  __: { tag: 'strong', close: /(?<=[^\s])__(?![\p{L}\p{N}_])/gu },
  '~~': { tag: 'del', close: /(?<=[^\s])~~/g },
  '*': { tag: 'em', close: /(?<=[^\s*])\*(?!\*)/g },
  _: { tag: 'em', close: /(?<=[^\s_])_(?![\p{L}\p{N}_])/gu },
};

/** Parses the text of one block. For any text, the time is proportional to the length. */
export function parseInline(text: string, depth = 0, inLink = false): Piece[] {
  const pieces: Piece[] = [];
  let plain = '';
  /** Marks that have no closing mark in the rest of the text. */
  const endless = new Set<string>();
  let at = 0;
  const put = (piece: Element, end: number) => {
    if (plain !== '') pieces.push(plain);
    plain = '';
    pieces.push(piece);
    at = end;
  };
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(text);
    if (found === null) break;
    plain += text.slice(at, found.index);
    at = found.index;
    const [mark] = found;
    const next = text.charAt(at + mark.length);
    if (mark === '\\') {
      const escapes = PUNCTUATION.test(next);
      if (next === '\n') put(element('br'), at + 2);
      else {
        plain += escapes ? next : mark;
        at += escapes ? 2 : 1;
      }
      continue;
    }
    const [piece, end] = special(text, at, mark, { depth, inLink, endless }) ?? [null, at + mark.length];
    if (piece === null) {
      plain += mark;
      at = end;
    } else {
      if (mark === '\n') plain = plain.replace(/[ \t]{1,99}$/, '');
      put(piece, end);
    }
  }
  plain += text.slice(at);
  if (plain !== '') pieces.push(plain);
  return pieces;
}

interface Place {
  depth: number;
  inLink: boolean;
  endless: Set<string>;
}

/** Returns the element that begins here, and its end. Null if the mark is only text. */
function special(text: string, at: number, mark: string, place: Place): [Element, number] | null {
  if (mark === '\n') return [element('br'), at + 1];
  if (mark.startsWith('`')) return code(text, at, mark, place.endless);
  if (mark === '[' || mark === '![') return place.inLink ? null : link(text, at, place);
  if (mark === '<') return place.inLink ? null : plainLink(ANGLE_LINK, text, at);
  if (mark.startsWith('http')) return place.inLink ? null : plainLink(BARE_LINK, text, at);
  return emphasis(text, at, mark, place);
}

function code(text: string, at: number, mark: string, endless: Set<string>): [Element, number] | null {
  if (endless.has(mark)) return null;
  const from = at + mark.length;
  for (let end = text.indexOf(mark, from); end !== -1; end = text.indexOf(mark, end)) {
    let after = end;
    while (text[after] === '`') after++;
    if (after - end === mark.length) return [element('code', [trimOnce(text.slice(from, end))]), after];
    end = after;
  }
  endless.add(mark);
  return null;
}

/** Removes one space on each side. These spaces only separate a backtick in the code from the marks. */
function trimOnce(words: string): string {
  const line = words.replaceAll('\n', ' ');
  return line.length > 2 && line.startsWith(' ') && line.endsWith(' ') ? line.slice(1, -1) : line;
}

function link(text: string, at: number, place: Place): [Element, number] | null {
  LINK.lastIndex = at;
  const found = LINK.exec(text);
  const [whole = '', words = '', address = ''] = found ?? [];
  const href = safeAddress(address);
  if (href === null) return null;
  const label = words.trim() === '' ? [address] : parseInline(words, place.depth + 1, true);
  return [{ ...element('a', label), href }, at + whole.length];
}

function plainLink(form: RegExp, text: string, at: number): [Element, number] | null {
  form.lastIndex = at;
  const [whole = '', inner = whole] = form.exec(text) ?? [];
  const address = form === BARE_LINK ? withoutTail(whole) : inner;
  const href = safeAddress(address);
  if (href === null) return null;
  return [
    { ...element('a', [address.replace(/^mailto:/, '')]), href },
    at + (form === BARE_LINK ? address.length : whole.length),
  ];
}

/** Removes the period of a sentence and a bracket around an address. Neither is part of the address. */
function withoutTail(address: string): string {
  let end = address.length;
  while (end > 0) {
    const last = address.charAt(end - 1);
    const opened = last === ')' && address.slice(0, end).includes('(');
    if (opened || !/[.,;:!?'"*_~)\]]/.test(last)) break;
    end--;
  }
  return address.slice(0, end);
}

function emphasis(text: string, at: number, mark: string, place: Place): [Element, number] | null {
  const form = MARKS[mark];
  const from = at + mark.length;
  if (!form || place.endless.has(mark) || place.depth >= MAX_DEPTH) return null;
  if (/^\s?$/.test(text.charAt(from))) return null;
  if (mark.startsWith('_') && /[\p{L}\p{N}_]/u.test(text.charAt(at - 1))) return null;
  form.close.lastIndex = from + 1;
  const found = form.close.exec(text);
  if (found === null) {
    place.endless.add(mark);
    return null;
  }
  const inner = parseInline(text.slice(from, found.index), place.depth + 1, place.inLink);
  return [element(form.tag, inner), found.index + mark.length];
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/**
 * Returns the address that the browser would follow. Null for relative addresses and for any scheme other than http,
 * https and mailto.
 */
function safeAddress(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return SCHEMES.has(url.protocol) ? url.href : null;
}
