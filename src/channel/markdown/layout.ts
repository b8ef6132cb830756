import { measureWidth } from '../characters.ts';
import type { Block, List, ListItem, Table } from './build-tree.ts';
import type { Dialect, Mark } from './dialect.ts';
import { escapeRuns, joinText, toRuns } from './runs.ts';
import { CUT, LINE, PARAGRAPH, splitCode, type Token } from './tokens.ts';

/** Maximum number of lists that indent a block. Deeper lists are not indented further. */
const MAX_INDENT = 6;
/** A heading stays with the text after it, unless there is no better place for a cut. */
const AFTER_HEADING = { ...PARAGRAPH, cut: CUT.word };

/** What surrounds a block. */
interface Layout {
  readonly dialect: Dialect;
  /** The marks of the blocks around it. */
  readonly frames: readonly Mark[];
  /** Number of lists around the block. */
  readonly depth: number;
}

/**
 * Turns blocks into tokens, in reading order.
 * @param before the last visible block before them; null if there is none
 * @param tokens get those of the blocks
 * @returns the last visible block
 */
export function layOut(
  blocks: readonly Block[],
  before: Block | null,
  tokens: Token[],
  layout: Layout,
): Block | null {
  let last = before;
  for (const block of blocks) {
    const made = layOutBlock(block, layout);
    if (made.length === 0) continue;
    if (last !== null) tokens.push(last.type === 'heading' ? AFTER_HEADING : PARAGRAPH);
    for (const token of made) tokens.push(token);
    last = block;
  }
  return last;
}

function layOutBlocks(blocks: readonly Block[], layout: Layout): Token[] {
  const tokens: Token[] = [];
  layOut(blocks, null, tokens, layout);
  return tokens;
}

function layOutBlock(node: Block, layout: Layout): Token[] {
  const { dialect, frames } = layout;
  switch (node.type) {
    case 'paragraph':
      return escapeRuns(toRuns(node.children, { dialect, frames, styles: [] }), dialect);
    case 'heading':
      return escapeRuns(toRuns(node.children, { dialect, frames, styles: [dialect.strong] }), dialect);
    case 'blockquote': {
      // No platform has nested quotations.
      const isInside = frames.some((mark) => QUOTES.has(mark));
      const around = isInside ? frames : [createQuote(dialect), ...frames];
      return layOutBlocks(node.children, { ...layout, frames: around });
    }
    case 'list':
      return layOutList(node, layout);
    case 'code':
      return codeBlock(node.value, readLanguage(node.lang), layout);
    case 'table':
      return dialect.tables === 'aligned'
        ? codeBlock(tableLines(renderRows(node, dialect)), null, layout)
        : rowByRow(node, layout);
    case 'thematicBreak':
      return [{ kind: 'word', text: '———', marks: frames }];
    case 'footnoteDefinition': {
      const label: Token = { kind: 'word', text: `[${node.label}] `, marks: frames };
      return [label, ...layOutBlocks(node.children, layout)];
    }
  }
}

/** The mark of each quotation is a new object, so that two quotations in a row are not joined. */
const QUOTES = new WeakSet<Mark>();

function createQuote(dialect: Dialect): Mark {
  const mark = { ...dialect.quote };
  QUOTES.add(mark);
  return mark;
}

function layOutList(list: List, layout: Layout): Token[] {
  return list.children.flatMap((item, index) => {
    const number = list.start === null ? null : `${list.start + index}.`;
    const tokens = layOutItem(item, number, layout);
    return index === 0 ? tokens : [list.spread ? PARAGRAPH : LINE, ...tokens];
  });
}

function layOutItem(item: ListItem, number: string | null, layout: Layout): Token[] {
  const { dialect, frames, depth } = layout;
  const box = item.checked === null ? null : item.checked ? '☑' : '☐';
  const bullet = number ?? box ?? dialect.bullets[Math.min(depth, dialect.bullets.length - 1)] ?? '-';
  const text = `${number !== null && box !== null ? `${number} ${box}` : bullet} `;
  const inside = depth < MAX_INDENT ? [...frames, { prefix: ' '.repeat(text.length) }] : frames;
  const tokens: Token[] = [{ kind: 'word', text, marks: frames }];
  let isFirst = true;
  for (const child of item.children) {
    const block = layOutBlock(child, { dialect, frames: inside, depth: depth + 1 });
    if (block.length === 0) continue;
    // A block that cannot follow a bullet on the same line begins on the next line.
    if (!isFirst) tokens.push(child.type === 'list' || !item.spread ? LINE : PARAGRAPH);
    else if (child.type !== 'paragraph' && child.type !== 'heading') tokens.push(LINE);
    for (const token of block) tokens.push(token);
    isFirst = false;
  }
  return tokens;
}

/**
 * A code block can be inside marks that are written only at the beginning and the end, such as the quotations of some
 * platforms. It cannot be inside marks that are written on every line, so those marks are dropped.
 */
function codeBlock(text: string, language: string | null, { dialect, frames }: Layout): Token[] {
  const marks = [...frames.filter(({ prefix }) => prefix === undefined), dialect.codeBlock(language)];
  // Without an escape, a fence inside the code would end the block.
  const safe = '`' in dialect.lookalikes ? text.replace(/``(?=`)/g, '``\u200b') : text;
  return splitCode(safe, marks);
}

function readLanguage(lang: string): string | null {
  return /^[A-Za-z0-9+#._-]{1,30}$/.test(lang) ? lang : null;
}

/** The cells of the table as text. A code block has no links, so addresses are written out. */
function renderRows(table: Table, dialect: Dialect): string[][] {
  const inCode = { dialect: { ...dialect, link: () => null }, frames: [], styles: [] };
  return table.rows.map((row) => row.map((cell) => joinText(toRuns(cell, inCode))));
}

function rowByRow(table: Table, { dialect, frames }: Layout): Token[] {
  return table.rows.flatMap((cells, row) => {
    const styles = row === 0 ? [dialect.strong] : [];
    const runs = cells.flatMap((cell, column) => {
      const inside = toRuns(cell, { dialect, frames, styles });
      return column === 0 ? inside : [{ kind: 'text' as const, text: ' | ', marks: frames }, ...inside];
    });
    const tokens = escapeRuns(runs, dialect);
    return row === 0 ? tokens : [LINE, ...tokens];
  });
}

/** Maximum width of a table with aligned columns. Screens would wrap wider lines. */
const MAX_WIDTH = 100;
/**
 * Writes a table as lines of monospaced text with a rule below its first row. Columns are aligned if that does not
 * take too much space.
 */
export function tableLines(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, ' ').trim()));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, measureWidth(cell));
  }
  const total = widths.reduce((sum, width) => sum + width + 3, -3);
  const written = cells.flat().reduce((sum, cell) => sum + cell.length + 3, 0);
  // Padding must not make a reply much longer.
  const isAligned = total <= MAX_WIDTH && total * rows.length <= 3 * written + 1000;
  const [head = [], ...body] = cells.map((row) =>
    row.map((cell, column) =>
      isAligned ? cell + ' '.repeat((widths[column] ?? 0) - measureWidth(cell)) : cell,
    ),
  );
  const rule = isAligned ? widths.map((width) => '-'.repeat(width)).join('-+-') : '---';
  return [head.join(' | '), rule, ...body.map((row) => row.join(' | '))]
    .map((line) => line.trimEnd())
    .join('\n');
}
