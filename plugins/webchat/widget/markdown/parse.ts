import { type Element, element, type Piece, parseInline, type Tag } from './inline.ts';

/** Longer texts are truncated. A reply of the daemon has at most 100,000 characters. */
const MAX_CHARACTERS = 200_000;
/** Lists and quotations that are nested deeper are shown as paragraphs. */
const MAX_DEPTH = 6;
const MAX_COLUMNS = 20;

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const FENCE_END = /^ {0,3}(`{3,}|~{3,}) *$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const TASK = /^\[([ xX])\] (?=\S)/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:( {1,4})(?=\S)| *$)/;

/**
 * Parses Markdown into a tree of allowed elements. It supports the part of CommonMark that agents write, tables, and
 * bare addresses. HTML is shown as text. As is usual in chats, a single line break is shown as a line break. While a
 * text is streamed, incomplete markup is shown as well as possible.
 */
export function parseMarkdown(text: string): Element[] {
  const bounded = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  return parseBlocks(withoutTricks(bounded).split('\n'), 0);
}

/**
 * Removes characters that reorder or hide the text around them: control characters, and bidirectional embeddings and
 * overrides. Bidirectional marks and isolates are kept, because right-to-left texts need them.
 */
export function withoutTricks(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/g, '')
    .replaceAll('\t', '    ');
}

/**
 * Parses one kind of block. Returns the block that begins in line `at`, and the number of the line after it. Null if no
 * block of this kind begins there.
 */
type Taker = (lines: readonly string[], at: number, depth: number) => [Element, number] | null;

const TAKERS: readonly Taker[] = [takeFence, takeHeading, takeRule, takeQuote, takeList, takeTable];

function parseBlocks(lines: readonly string[], depth: number): Element[] {
  const blocks: Element[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    const [block, next] = takeBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

function takeBlock(lines: readonly string[], at: number, depth: number): [Element, number] {
  for (const take of TAKERS) {
    const taken = take(lines, at, depth);
    if (taken !== null) return taken;
  }
  return takeParagraph(lines, at, depth);
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === '';
}

function takeParagraph(lines: readonly string[], at: number, depth: number): [Element, number] {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !interrupts(lines, end, depth)) end++;
  const words = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join('\n');
  return [element('p', parseInline(words)), end];
}

/** Whether a block may begin on this line, directly below a paragraph. */
function interrupts(lines: readonly string[], at: number, depth: number): boolean {
  const line = lines[at] ?? '';
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    (depth < MAX_DEPTH && (QUOTE.test(line) || ITEM.test(line))) ||
    isTable(lines, at)
  );
}

function takeFence(lines: readonly string[], at: number): [Element, number] | null {
  const [, fence] = FENCE.exec(lines[at] ?? '') ?? [];
  if (fence === undefined) return null;
  let end = at + 1;
  while (end < lines.length && !closes(lines[end] ?? '', fence)) end++;
  const code = lines.slice(at + 1, end).join('\n');
  return [element('pre', [element('code', [code])]), end + 1];
}

function closes(line: string, fence: string): boolean {
  return FENCE_END.exec(line)?.[1]?.startsWith(fence) ?? false;
}

function takeHeading(lines: readonly string[], at: number): [Element, number] | null {
  const line = lines[at] ?? '';
  const [opening, marks] = HEADING.exec(line) ?? [];
  if (opening === undefined || marks === undefined) return null;
  const words = line.slice(opening.length).trim().replace(/ #+$/, '');
  return [element(marks.length === 1 ? 'h3' : 'h4', parseInline(words)), at + 1];
}

function takeRule(lines: readonly string[], at: number): [Element, number] | null {
  return RULE.test(lines[at] ?? '') ? [element('hr'), at + 1] : null;
}

function takeQuote(lines: readonly string[], at: number, depth: number): [Element, number] | null {
  if (depth >= MAX_DEPTH || !QUOTE.test(lines[at] ?? '')) return null;
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? '')) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return [element('blockquote', parseBlocks(inner, depth + 1)), end];
}

function takeList(lines: readonly string[], at: number, depth: number): [Element, number] | null {
  const first = depth < MAX_DEPTH && !RULE.test(lines[at] ?? '') ? ITEM.exec(lines[at] ?? '') : null;
  if (!first) return null;
  const [, , mark = '', number] = first;
  const kind = mark.at(-1);
  const items: Element[] = [];
  let next = at;
  while (next < lines.length) {
    const start = firstWritten(lines, next);
    const item = ITEM.exec(lines[start] ?? '');
    if (!item || item[2]?.at(-1) !== kind || RULE.test(lines[start] ?? '')) break;
    const end = endOfItem(lines, start, measureIndent(item), depth);
    items.push(parseItem(lines.slice(start, end), item, depth));
    next = end;
  }
  if (number === undefined) return [element('ul', items), next];
  return [{ ...element('ol', items), start: Number(number) }, next];
}

function firstWritten(lines: readonly string[], at: number): number {
  let next = at;
  while (next < lines.length && isBlank(lines[next])) next++;
  return next;
}

/** How far the lines of an item are indented. */
function measureIndent([, blanks = '', mark = '', , gap = ' ']: RegExpExecArray): number {
  return blanks.length + mark.length + gap.length;
}

/**
 * Returns the index after the last line of an item. The item contains the lines that are indented below it, and the
 * rest of its paragraph even if that is not indented. An indentation of two spaces is always enough, because agents
 * write nested lists like that.
 */
function endOfItem(lines: readonly string[], start: number, indent: number, depth: number): number {
  let end = start + 1;
  while (end < lines.length) {
    const line = lines[end] ?? '';
    if (isBlank(line)) {
      const after = firstWritten(lines, end);
      if (!isIndented(lines[after], indent)) break;
      end = after;
    } else if (!isIndented(line, indent) && interrupts(lines, end, depth)) break;
    else end++;
  }
  return end;
}

function isIndented(line: string | undefined, indent: number): boolean {
  return line !== undefined && leading(line) >= Math.min(indent, 2);
}

function leading(line: string): number {
  return line.length - line.trimStart().length;
}

function parseItem(lines: readonly string[], item: RegExpExecArray, depth: number): Element {
  const indent = measureIndent(item);
  const inner = lines.map((line, index) =>
    index === 0 ? line.slice(item[0].length) : line.slice(Math.min(leading(line), indent)),
  );
  const [mark = '', state] = (item[3] === undefined && TASK.exec(inner[0] ?? '')) || [];
  inner[0] = (inner[0] ?? '').slice(mark.length);
  const blocks: Piece[] = parseBlocks(inner, depth + 1);
  const [first, ...rest] = blocks;
  // If an item begins with its only paragraph, the text is put directly into the item, without a paragraph.
  const isLine =
    typeof first === 'object' &&
    first.tag === 'p' &&
    rest.every((one) => typeof one === 'object' && one.tag !== 'p');
  const made = element('li', isLine ? [...first.children, ...rest] : blocks);
  return state === undefined ? made : { ...made, done: state !== ' ' };
}

function isTable(lines: readonly string[], at: number): boolean {
  const head = lines[at] ?? '';
  const line = (lines[at + 1] ?? '').trim();
  if (!head.includes('|') || !line.includes('-') || !line.includes('|')) return false;
  return splitCells(line).every((cell) => /^:?-+:?$/.test(cell));
}

function takeTable(lines: readonly string[], at: number): [Element, number] | null {
  if (!isTable(lines, at)) return null;
  let end = at + 2;
  while (end < lines.length && lines[end]?.includes('|')) end++;
  const head = splitCells(lines[at] ?? '');
  const columns = splitCells(lines[at + 1] ?? '').map(parseAlignment);
  const row = (cells: readonly string[], tag: 'th' | 'td') =>
    element(
      'tr',
      cells
        .slice(0, head.length)
        .map((cell, column) => ({ ...element(tag, parseInline(cell)), ...columns[column] })),
    );
  const body = lines.slice(at + 2, end).map((line) => row(splitCells(line), 'td'));
  return [element('table', [element('thead', [row(head, 'th')]), element('tbody', body)]), end];
}

/** Alignment in a delimiter cell: `:--`, `:-:` or `--:`. */
function parseAlignment(cell: string): Pick<Element, 'align'> {
  if (cell.endsWith(':')) return { align: cell.startsWith(':') ? 'center' : 'right' };
  return cell.startsWith(':') ? { align: 'left' } : {};
}

function splitCells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner
    .split(/(?<!\\)\|/)
    .slice(0, MAX_COLUMNS)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const INLINE: ReadonlySet<Tag> = new Set(['code', 'strong', 'em', 'del', 'a']);

/** The text without markup. Each block is on its own lines. */
export function toPlainText(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string'
        ? piece
        : `${taskSign(piece)}${toPlainText(piece.children)}${INLINE.has(piece.tag) ? '' : '\n'}`,
    )
    .join('');
}

function taskSign({ done }: Element): string {
  return done === undefined ? '' : done ? '☑ ' : '☐ ';
}
