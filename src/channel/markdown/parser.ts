import type { Delimiter, Env, StateBlock, StateInline } from 'markdown-it';
import MarkdownIt, { type Token } from 'markdown-it';

/** CommonMark with GitHub's tables, strikethrough, footnotes and bare addresses. HTML is text. */
const parser = new MarkdownIt({ html: false });
const INTERRUPTS_TEXT = ['paragraph', 'reference'];
const INTERRUPTS_ALL = [...INTERRUPTS_TEXT, 'blockquote', 'list'];
parser.disable('table');
// A line that looks like the head of a table may also begin another block, so other blocks are tried first.
parser.block.ruler.before('lheading', 'gfm_table', table, { alt: INTERRUPTS_TEXT });
parser.block.ruler.before('reference', 'footnote', footnote, { alt: INTERRUPTS_ALL });
parser.inline.ruler.at('text', text);
parser.inline.ruler.at('linkify', address);
parser.inline.ruler.at('autolink', angleAddress);
parser.inline.ruler.at('strikethrough', strikethrough);
parser.inline.ruler2.at('strikethrough', pairStrikethrough);
parser.inline.ruler.before('link', 'footnote_reference', footnoteReference);
// Links are kept unchanged here; `safeUrl` checks them later.
parser.validateLink = () => true;
parser.normalizeLink = (url) => url;
parser.normalizeLinkText = (url) => url;

/** The blocks of a text. `env` collects definitions of links and footnotes, which all parts of a reply share. */
export function readBlocks(text: string, env: Env): Token[] {
  const tokens: Token[] = [];
  parser.block.parse(text, parser, env, tokens);
  return tokens;
}

/** The marks and links in the text of a block. */
export function readInline(text: string, env: Env): Token[] {
  const tokens: Token[] = [];
  parser.inline.parse(text, parser, env, tokens);
  return tokens;
}

const DEFINITION = /\[\^([^\s[\]]{1,999})\]:[ \t]*/y;
const REFERENCE = /\[\^([^\s[\]]{1,999})\]/y;
/** Indentation of the text of a footnote, columns. */
const INDENT = 4;

/** The labels of a reply's footnotes. */
function footnoteLabels(env: Env): Set<unknown> {
  env.footnotes ??= new Set();
  return env.footnotes as Set<unknown>;
}

/** `[^label]: text`, a block that contains blocks. */
function footnote(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const begin = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  const indent = state.sCount[startLine] ?? 0;
  if (indent - state.blkIndent >= 4) return false;
  DEFINITION.lastIndex = begin;
  const [found, label = ''] = DEFINITION.exec(state.src) ?? [];
  if (found === undefined) return false;
  if (silent) return true;

  footnoteLabels(state.env).add(state.md.utils.normalizeReference(label));
  const open = state.push('footnote_open', '', 1);
  open.content = label;
  const { parentType, blkIndent } = state;
  const before = { bMark: state.bMarks[startLine], tShift: state.tShift[startLine] };
  // The first line begins after the label, as if it were indented like the lines below.
  state.bMarks[startLine] = begin + found.length;
  state.tShift[startLine] = 0;
  state.blkIndent = blkIndent + INDENT;
  state.sCount[startLine] = state.blkIndent;
  state.parentType = 'footnote';
  if (state.isEmpty(startLine)) state.line = startLine + 1;
  else state.md.block.tokenize(state, startLine, endLine);
  state.parentType = parentType;
  state.blkIndent = blkIndent;
  state.bMarks[startLine] = before.bMark ?? 0;
  state.tShift[startLine] = before.tShift ?? 0;
  state.sCount[startLine] = indent;
  open.map = [startLine, state.line];
  state.push('footnote_close', '', -1);
  return true;
}

/** `[^label]`, if such a footnote exists. */
function footnoteReference(state: StateInline, silent: boolean): boolean {
  REFERENCE.lastIndex = state.pos;
  const [found, label = ''] = REFERENCE.exec(state.src) ?? [];
  if (found === undefined || state.pos + found.length > state.posMax) return false;
  if (!footnoteLabels(state.env).has(state.md.utils.normalizeReference(label))) return false;
  if (!silent) state.push('footnote_reference', '', 0).content = label;
  state.pos += found.length;
  return true;
}

const TILDE = 0x7e;
/** Identifies a single tilde in the list of delimiters. One tilde is closed by one tilde, and two by two. */
const ONE = -1;
const TWO = -2;

/** GitHub's strikethrough with one or two tildes. The parser's own rule supports only two. */
function strikethrough(state: StateInline, silent: boolean): boolean {
  if (silent || state.src.charCodeAt(state.pos) !== TILDE) return false;
  const { length, can_open, can_close } = state.scanDelims(state.pos, true);
  const token = state.push('text', '', 0);
  token.content = '~'.repeat(length);
  state.pos += length;
  if (length > 2) return true;
  state.delimiters.push({
    marker: length === 1 ? ONE : TWO,
    length: 0,
    token: state.tokens.length - 1,
    end: -1,
    open: can_open,
    close: can_close,
  });
  return true;
}

/** Turns pairs of tildes into marks. */
function pairStrikethrough(state: StateInline): void {
  pair(state, state.delimiters);
  for (const meta of state.tokens_meta) if (meta?.delimiters) pair(state, meta.delimiters);
}

function pair(state: StateInline, delimiters: readonly Delimiter[]): void {
  for (const { marker, token, end } of delimiters) {
    if (end === -1 || (marker !== ONE && marker !== TWO)) continue;
    const open = state.tokens[token];
    const close = state.tokens[delimiters[end]?.token ?? -1];
    if (open === undefined || close === undefined) continue;
    Object.assign(open, { type: 's_open', nesting: 1, content: '' });
    Object.assign(close, { type: 's_close', nesting: -1, content: '' });
  }
}

/** Cells of the line below the head. */
const DELIMITER = /^:?-+:?$/;

/**
 * GitHub's tables (https://github.github.com/gfm/#tables-extension-). Unlike the parser's own rule, this rule keeps the
 * cells of a row that is longer than the head, and does not fill up shorter rows.
 */
function table(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const head = parseHead(state, startLine, endLine);
  if (head === null) return false;
  if (silent) return true;

  const parent = state.parentType;
  state.parentType = 'table';
  const ends = state.md.block.ruler.getRules('blockquote');
  const open = state.push('table_open', 'table', 1);
  pushRow(state, head);
  let line = startLine + 2;
  while (line < endLine && !state.isEmpty(line) && isInBlock(state, line)) {
    if (ends.some((rule) => rule(state, line, endLine, true))) break;
    pushRow(state, splitCells(readLine(state, line)));
    line++;
  }
  state.push('table_close', 'table', -1);
  open.map = [startLine, line];
  state.parentType = parent;
  state.line = line;
  return true;
}

/** The cells of a table's head. Null if no table begins in this line. */
function parseHead(state: StateBlock, line: number, endLine: number): string[] | null {
  if (line + 1 >= endLine || !isInBlock(state, line) || !isInBlock(state, line + 1)) return null;
  const below = readLine(state, line + 1);
  // A hyphen that is followed by a space begins a list item.
  if (!/^[|:-]/.test(below) || /^-\s/.test(below) || !/[|:]/.test(below)) return null;
  const delimiters = splitCells(below);
  if (delimiters.length === 0 || !delimiters.every((cell) => DELIMITER.test(cell))) return null;
  const cells = splitCells(readLine(state, line));
  return cells.length === delimiters.length ? cells : null;
}

/** Whether the line belongs to the block that is being read, and is not indented code. */
function isInBlock(state: StateBlock, line: number): boolean {
  const indent = (state.sCount[line] ?? 0) - state.blkIndent;
  return indent >= 0 && indent < 4;
}

function readLine(state: StateBlock, line: number): string {
  return state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]).trim();
}

function splitCells(line: string): string[] {
  if (line === '|') return [''];
  return line
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function pushRow(state: StateBlock, cells: readonly string[]): void {
  state.push('tr_open', 'tr', 1);
  for (const cell of cells) {
    state.push('td_open', 'td', 1);
    const inline = state.push('inline', '', 0);
    inline.content = cell;
    inline.children = [];
    state.push('td_close', 'td', -1);
  }
  state.push('tr_close', 'tr', -1);
}

/** Characters at which something other than plain text may begin. */
const STOP = /[\n!#$%&*+\-:<=>@[\\\]^_`{}~]|www\.|https?:\/\//gi;
/** Scheme or `www.`, and the host name. */
const HOST = /(?:(https?:\/\/)|www\.)((?:[\p{L}\p{M}\p{N}_-]+\.)*[\p{L}\p{M}\p{N}_-]+)/iuy;
/**
 * The rest of an address: everything up to white space or `<`, or up to `](` or `][`, which end the label of a link.
 */
const PATH = /(?:(?!\][([])[^\s<])*/uy;
/**
 * `<scheme:…>` and `<name@host>`. A name with `!` or `|` does not count, because platforms have commands in this
 * form.
 */
const ANGLE =
  /<(?:([a-z][a-z0-9+.-]{1,31}:[^\s<>\p{Cc}]*)|([\w.#$%&'*+/=?^`{}~-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?))>/iuy;
const MAIL = /(?<![\w.+/-])(mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[\w-]*[a-z](?![\w-])/gi;

/** Plain text up to the next possible markup. The parser's own rule does not know where addresses begin. */
function text(state: StateInline, silent: boolean): boolean {
  STOP.lastIndex = state.pos;
  const end = Math.min(STOP.exec(state.src)?.index ?? state.posMax, state.posMax);
  if (end === state.pos) return false;
  if (!silent) state.pending += state.src.slice(state.pos, end);
  state.pos = end;
  return true;
}

/** GitHub's bare addresses (https://github.github.com/gfm/#autolinks-extension-). */
function address(state: StateInline, silent: boolean): boolean {
  // While the parser searches for the end of a label, brackets have priority over addresses.
  if (silent || state.linkLevel > 0 || !/[hw]/i.test(state.src.charAt(state.pos))) return false;
  HOST.lastIndex = state.pos;
  const [found, scheme, host = ''] = HOST.exec(state.src) ?? [];
  if (found === undefined || !isHost(host)) return false;
  // An address cannot begin inside a word. Before a scheme, any character except a Latin letter is allowed.
  const isInWord = scheme === undefined ? /[\p{L}\p{M}\p{N}]$/u : /[a-z]$/i;
  if (isInWord.test(state.src.slice(Math.max(0, state.pos - 2), state.pos))) return false;
  PATH.lastIndex = state.pos + found.length;
  const shown = withoutTail(found + (PATH.exec(state.src)?.[0] ?? ''));
  pushLink(state, scheme === undefined ? `http://${shown}` : shown, shown);
  state.pos += shown.length;
  return true;
}

/** CommonMark's addresses in angle brackets (https://spec.commonmark.org/current/#autolinks). */
function angleAddress(state: StateInline, silent: boolean): boolean {
  ANGLE.lastIndex = state.pos;
  const [found, url, mail] = ANGLE.exec(state.src) ?? [];
  if (found === undefined) return false;
  if (!silent) pushLink(state, url ?? `mailto:${mail}`, url ?? mail ?? '');
  state.pos += found.length;
  return true;
}

/**
 * Whether a host name is valid: its last two parts contain no underscore. Closing emphasis is not part of the host
 * name.
 */
function isHost(host: string): boolean {
  return !host
    .replace(/[._-]+$/, '')
    .split('.')
    .slice(-2)
    .some((part) => part.includes('_'));
}

/** Removes the period of a sentence and a bracket around an address, which are not part of the address. */
function withoutTail(found: string): string {
  const opened = found.split('(').length;
  let closed = found.split(')').length;
  let end = found.length;
  while (/[!"'*),.:;?_~\]]/.test(found.charAt(end - 1))) {
    const last = found.charAt(end - 1);
    if (last === ')' && closed-- <= opened) break;
    // A character reference at the end, such as `&copy;`, is removed as the character itself would be.
    const reference =
      last === ';' ? /&[a-z0-9]{1,31};$/i.exec(found.slice(Math.max(0, end - 40), end)) : null;
    end -= reference?.[0].length ?? 1;
  }
  return found.slice(0, end);
}

function pushLink(state: StateInline, url: string, shown: string): void {
  state.push('link_open', 'a', 1).attrSet('href', url);
  state.push('text', '', 0).content = shown;
  state.push('link_close', 'a', -1);
}

/** The mail addresses in a text. They may be in emphasis and after escapes. */
export function mailIn(text: string): readonly { index: number; shown: string }[] {
  if (!text.includes('@')) return [];
  return Array.from(text.matchAll(MAIL), ({ index, 0: shown }) => ({ index, shown }));
}
