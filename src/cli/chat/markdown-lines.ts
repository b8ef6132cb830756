import type { Block, Inline, List, ListItem, Table } from '../../channel/markdown/build-tree.ts';
import { readMarkdown } from '../../channel/markdown/read-markdown.ts';
import { isSame, MAX_URL, safeUrl } from '../../channel/markdown/runs.ts';
import { GAP, narrowColumns, rowLines, totalWidth } from '../columns.ts';
import {
  type Format,
  type Line,
  type Look,
  paint,
  type Span,
  spansWidth,
  wrapSpans,
} from '../styled-text.ts';

/** No column of a table is made narrower than this. */
const CELL_MIN = 8;
/** However deeply a block is nested, its lines have this many columns. */
const BLOCK_MIN = 20;

/** The lines of a text in Markdown on a terminal. */
export function markdownLines(markdown: string, look: Look): string[] {
  return stack(readMarkdown(markdown), look).map((line) => paint(withoutEnd(line), look));
}

function withoutEnd(line: Line): Line {
  const last = line.at(-1);
  if (last === undefined || !/\s$/.test(last.text)) return line;
  const text = last.text.trimEnd();
  const rest = line.slice(0, -1);
  return text === '' ? withoutEnd(rest) : [...rest, { ...last, text }];
}

/** Blocks with an empty line between them, if they are spread. A list in an item follows without one. */
function stack(blocks: readonly Block[], look: Look, isSpread = true, isTop = true): Line[] {
  const lines: Line[] = [];
  for (const block of blocks) {
    const made = toLines(block, look);
    if (made.length === 0) continue;
    const isNested = !isTop && block.type === 'list';
    if (lines.length > 0 && isSpread && !isNested) lines.push([]);
    lines.push(...made);
  }
  return lines;
}

function toLines(block: Block, look: Look): Line[] {
  switch (block.type) {
    case 'paragraph':
      return wrapSpans(inline(block.children, look), look.width);
    case 'heading':
      return wrapSpans(inline(block.children, look, { formats: ['bold'] }), look.width);
    case 'blockquote':
      return frame(block.children, look, [{ text: '│ ', formats: ['dim'] }]);
    case 'list':
      return listLines(block, look);
    case 'code':
      // Code is not wrapped: a line break would change it.
      return block.value
        .split('\n')
        .map((line) => [{ text: GAP }, { text: line.replaceAll('\t', '    '), formats: ['cyan'] }]);
    case 'table':
      return tableLines(block, look);
    case 'thematicBreak':
      return [[{ text: '─'.repeat(Math.min(look.width, 40)), formats: ['dim'] }]];
    case 'footnoteDefinition':
      return frame(block.children, look, [{ text: `[${block.label}] ` }], [{ text: GAP }]);
  }
}

/** @param first what the first line begins with; `next`: the other lines */
function frame(
  blocks: readonly Block[],
  look: Look,
  first: Line,
  next: Line = first,
  isSpread = true,
): Line[] {
  const width = Math.max(look.width - spansWidth(next), BLOCK_MIN);
  const lines = stack(blocks, { ...look, width }, isSpread, first === next);
  return lines.map((line, index) => [...(index === 0 ? first : next), ...line]);
}

function listLines({ start, spread, children }: List, look: Look): Line[] {
  const numbers = children.map((_, index) => (start === null ? '•' : `${start + index}.`));
  const longest = Math.max(...numbers.map((number) => number.length));
  return children.flatMap((item, index) => {
    const lines = itemLines(item, (numbers[index] ?? '•').padStart(longest), look);
    return spread && index > 0 ? [[], ...lines] : lines;
  });
}

function itemLines({ checked, spread, children }: ListItem, bullet: string, look: Look): Line[] {
  const box = checked === null ? '' : checked ? '☑ ' : '☐ ';
  const text = `${bullet} ${box}`;
  const first: Line = [{ text, formats: ['cyan'] }];
  const lines = frame(children, look, first, [{ text: ' '.repeat(text.length) }], spread);
  return lines.length === 0 ? [first] : lines;
}

/**
 * Aligned columns under a bold head. Cells are wrapped if the terminal is too narrow. If that is not enough, each row
 * becomes a block of lines with the titles of the columns.
 */
function tableLines({ rows }: Table, look: Look): Line[] {
  const cells = rows.map((row, index) =>
    row.map((cell) => inline(cell, look, index === 0 ? { formats: ['bold'] } : {}).map(oneLine)),
  );
  const count = Math.max(...cells.map((row) => row.length));
  const natural = Array.from({ length: count }, (_, column) =>
    Math.max(...cells.map((row) => spansWidth(row[column] ?? []))),
  );
  const least = natural.map(() => CELL_MIN);
  const widths = narrowColumns(natural, least, look.width);
  if (totalWidth(widths) > look.width) return stackedRows(cells, look);
  const rule: Line = [{ text: widths.map((width) => '─'.repeat(width)).join(GAP), formats: ['dim'] }];
  const [head = [], ...lines] = cells.map((row) =>
    rowLines(
      widths.map((width, column) => wrapSpans(row[column] ?? [], width)),
      widths,
    ),
  );
  return [...head, rule, ...lines.flat()];
}

function oneLine(span: Span): Span {
  return { ...span, text: span.text.replaceAll('\n', ' ') };
}

function stackedRows([head = [], ...rows]: readonly (readonly Line[])[], look: Look): Line[] {
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [[]]),
    ...row.flatMap((cell, column) =>
      wrapSpans([...(head[column] ?? []), { text: ': ' }, ...cell], look.width),
    ),
  ]);
}

/** The spans of inline nodes, which look like `outer` and more. */
function inline(nodes: readonly Inline[], look: Look, outer: Omit<Span, 'text'> = {}): Span[] {
  return nodes.flatMap((node) => toSpans(node, look, outer));
}

function toSpans(node: Inline, look: Look, outer: Omit<Span, 'text'>): Span[] {
  const also = (format: Format) => ({ ...outer, formats: [...(outer.formats ?? []), format] });
  switch (node.type) {
    case 'text':
      return [{ ...outer, text: node.value }];
    case 'break':
      return [{ ...outer, text: '\n' }];
    case 'strong':
      return inline(node.children, look, also('bold'));
    case 'emphasis':
      return inline(node.children, look, also('italic'));
    case 'delete':
      return inline(node.children, look, also('strikethrough'));
    case 'inlineCode': {
      // Without colors, only the backticks show what is code.
      const text = look.color ? node.value : `\`${node.value}\``;
      return [{ ...also('cyan'), text: text.replaceAll('\n', ' ') }];
    }
    case 'link':
      return toLink(node.url, node.children, look, outer);
    case 'image':
      return toLink(node.url, [{ type: 'text', value: node.alt }], look, outer);
  }
}

/** Has an address or a host name in it. Browsers read `。` and its like as dots, and some characters are not seen. */
const HAS_ADDRESS = /:\/\/|@|[\p{L}\p{N}_-][.\u3002\uff0e\uff61][\p{L}\p{N}]/u;
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A link. Its address is written after the label if the terminal has no links, or if there is another address
 * in the label: nobody sees where a click leads.
 */
function toLink(target: string, children: readonly Inline[], look: Look, outer: Omit<Span, 'text'>): Span[] {
  const url = safeUrl(target)?.replace(/[^!-~]/gu, (character) =>
    encodeURIComponent(character.toWellFormed()),
  );
  const plain = inline(children, look, outer);
  const label = plain.map(({ text }) => text).join('');
  if (url === undefined || url.length > MAX_URL)
    return label.trim() === '' ? text(target, outer) : [...plain, ...text(` (${target})`, outer)];
  const shown = label.trim() === '' ? text(target, outer) : inline(children, look, { ...outer, url });
  const isBare = label.trim() === '' || isSame(label, target);
  const span = shown.map((one) => ({ ...one, url, text: one.text.replaceAll('\n', ' ') }));
  if (isBare || (look.links && !HAS_ADDRESS.test(label.replace(UNSEEN, '')))) return span;
  return [...span, { ...outer, text: ` (${target.replace(/^(mailto|tel):/i, '')})` }];
}

function text(value: string, look: Omit<Span, 'text'>): Span[] {
  return value === '' ? [] : [{ ...look, text: value }];
}
