import type { Dialect, Mark } from './dialect.ts';
import { harmless } from './harmless.ts';
import { CUT, type Ink } from './ink.ts';
import { runsOf, textOf } from './inline.ts';
import { tableLines } from './table.ts';
import type { Block, List, ListItem, Table } from './tree.ts';
import { codeOf, LINE, PARAGRAPH } from './words.ts';

/** Lists deeper than this are indented no further. */
const MAX_INDENT = 6;
/** A heading is not parted from what it heads, unless there is no better place. */
const AFTER_HEADING = { ...PARAGRAPH, cut: CUT.word };

/** Where a block stands. */
interface Layout {
  readonly dialect: Dialect;
  /** How many lists there are around. */
  readonly depth: number;
}

/** Makes words in marks of blocks, in the order in which they are read. */
export class Layouter {
  readonly #dialect: Dialect;
  #last: Block | null = null;
  readonly inks: Ink[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  add(blocks: readonly Block[]): void {
    this.#last = layOut(blocks, this.#last, [], { dialect: this.#dialect, depth: 0 }, this.inks);
  }
}

/** @returns the last block of which something is seen */
function layOut(
  blocks: readonly Block[],
  before: Block | null,
  frames: readonly Mark[],
  layout: Layout,
  inks: Ink[],
): Block | null {
  let last = before;
  for (const block of blocks) {
    const made = blockOf(block, frames, layout);
    if (made.length === 0) continue;
    if (last !== null) inks.push(last.type === 'heading' ? AFTER_HEADING : PARAGRAPH);
    for (const ink of made) inks.push(ink);
    last = block;
  }
  return last;
}

function blocksOf(blocks: readonly Block[], frames: readonly Mark[], layout: Layout): Ink[] {
  const inks: Ink[] = [];
  layOut(blocks, null, frames, layout, inks);
  return inks;
}

function blockOf(node: Block, frames: readonly Mark[], layout: Layout): Ink[] {
  const { dialect } = layout;
  switch (node.type) {
    case 'paragraph':
      return harmless(runsOf(node.children, frames, [], dialect), dialect);
    case 'heading':
      return harmless(runsOf(node.children, frames, [dialect.strong], dialect), dialect);
    case 'blockquote': {
      // No platform has a quotation in a quotation.
      const isInside = frames.some((mark) => QUOTES.has(mark));
      return blocksOf(node.children, isInside ? frames : [quoteOf(dialect), ...frames], layout);
    }
    case 'list':
      return listOf(node, frames, layout);
    case 'code':
      return codeBlock(node.value, languageOf(node.lang), frames, dialect);
    case 'table':
      return dialect.tables === 'aligned'
        ? codeBlock(tableLines(rowsOf(node, dialect)), null, frames, dialect)
        : rowByRow(node, frames, dialect);
    case 'thematicBreak':
      return [{ kind: 'word', text: '———', marks: frames }];
    case 'footnoteDefinition': {
      const label: Ink = { kind: 'word', text: `[${node.label}] `, marks: frames };
      return [label, ...blocksOf(node.children, frames, layout)];
    }
  }
}

/** The marks of quotations that were made, each of its own, so that two in a row stay two. */
const QUOTES = new WeakSet<Mark>();

function quoteOf(dialect: Dialect): Mark {
  const mark = { ...dialect.quote };
  QUOTES.add(mark);
  return mark;
}

function listOf(list: List, frames: readonly Mark[], layout: Layout): Ink[] {
  return list.children.flatMap((item, index) => {
    const number = list.start === null ? null : `${list.start + index}.`;
    const inks = itemOf(item, number, frames, layout);
    return index === 0 ? inks : [list.spread ? PARAGRAPH : LINE, ...inks];
  });
}

function itemOf(item: ListItem, number: string | null, frames: readonly Mark[], layout: Layout): Ink[] {
  const { dialect, depth } = layout;
  const box = item.checked === null ? null : item.checked ? '☑' : '☐';
  const bullet = number ?? box ?? dialect.bullets[Math.min(depth, dialect.bullets.length - 1)] ?? '-';
  const text = `${number !== null && box !== null ? `${number} ${box}` : bullet} `;
  const inside = depth < MAX_INDENT ? [...frames, { prefix: ' '.repeat(text.length) }] : frames;
  const inks: Ink[] = [{ kind: 'word', text, marks: frames }];
  let isFirst = true;
  for (const child of item.children) {
    const block = blockOf(child, inside, { ...layout, depth: depth + 1 });
    if (block.length === 0) continue;
    // A block that cannot begin behind a bullet begins below it.
    if (!isFirst) inks.push(child.type === 'list' || !item.spread ? LINE : PARAGRAPH);
    else if (child.type !== 'paragraph' && child.type !== 'heading') inks.push(LINE);
    for (const ink of block) inks.push(ink);
    isFirst = false;
  }
  return inks;
}

/** Stands in quotations that are marked at both ends, but in nothing that begins every line. */
function codeBlock(text: string, language: string | null, frames: readonly Mark[], dialect: Dialect): Ink[] {
  const marks = [...frames.filter(({ prefix }) => prefix === undefined), dialect.codeBlock(language)];
  // Where there is no escape, a fence within would end the block.
  const safe = '`' in dialect.lookalikes ? text.replace(/``(?=`)/g, '``\u200b') : text;
  return codeOf(safe, marks);
}

function languageOf(lang: string): string | null {
  return /^[A-Za-z0-9+#._-]{1,30}$/.test(lang) ? lang : null;
}

/** In code there are no links: their addresses are written out. */
function rowsOf(table: Table, dialect: Dialect): string[][] {
  const inCode: Dialect = { ...dialect, link: () => null };
  return table.rows.map((row) => row.map((cell) => textOf(runsOf(cell, [], [], inCode))));
}

function rowByRow(table: Table, frames: readonly Mark[], dialect: Dialect): Ink[] {
  return table.rows.flatMap((cells, row) => {
    const styles = row === 0 ? [dialect.strong] : [];
    const runs = cells.flatMap((cell, column) => {
      const inside = runsOf(cell, frames, styles, dialect);
      return column === 0 ? inside : [{ kind: 'text' as const, text: ' | ', marks: frames }, ...inside];
    });
    const inks = harmless(runs, dialect);
    return row === 0 ? inks : [LINE, ...inks];
  });
}
