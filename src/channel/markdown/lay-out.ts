import type { Definition, List, ListItem, Root, RootContent, Table } from 'mdast';
import type { Dialect, Mark } from './dialect.ts';
import { harmless } from './harmless.ts';
import { CUT, type Ink } from './ink.ts';
import { type Inlines, References, runsOf, textOf } from './inline.ts';
import { tableLines } from './table.ts';
import { codeOf, LINE, PARAGRAPH } from './words.ts';

/** Lists deeper than this are indented no further. */
const MAX_INDENT = 6;
/** A heading is not parted from what it heads, unless there is no better place. */
const AFTER_HEADING = { ...PARAGRAPH, cut: CUT.word };

/** What the blocks of one reply share. */
interface Layout extends Inlines {
  /** How many lists there are around. */
  depth: number;
}

/** The tree as words in marks, in the order in which they are read. */
export function layOut(root: Root, dialect: Dialect): Ink[] {
  const references = new References(definitionsIn(root.children));
  return blocksOf(root.children, [], { dialect, references, depth: 0 });
}

function definitionsIn(nodes: readonly RootContent[]): Definition[] {
  return nodes.flatMap((node) => {
    if (node.type === 'definition') return [node];
    return 'children' in node ? definitionsIn(node.children) : [];
  });
}

function blocksOf(nodes: readonly RootContent[], frames: readonly Mark[], layout: Layout): Ink[] {
  const inks: Ink[] = [];
  let before: RootContent | null = null;
  for (const node of nodes) {
    const block = blockOf(node, frames, layout);
    if (block.length === 0) continue;
    if (before !== null) inks.push(before.type === 'heading' ? AFTER_HEADING : PARAGRAPH);
    for (const ink of block) inks.push(ink);
    before = node;
  }
  return inks;
}

function blockOf(node: RootContent, frames: readonly Mark[], layout: Layout): Ink[] {
  const { dialect } = layout;
  switch (node.type) {
    case 'paragraph':
      return harmless(runsOf(node.children, frames, [], layout), dialect);
    case 'heading':
      return harmless(runsOf(node.children, frames, [dialect.strong], layout), dialect);
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
        ? codeBlock(tableLines(rowsOf(node, layout)), null, frames, dialect)
        : rowByRow(node, frames, layout);
    case 'thematicBreak':
      return [{ kind: 'word', text: '———', marks: frames }];
    case 'footnoteDefinition': {
      const label: Ink = { kind: 'word', text: `[${node.label ?? node.identifier}] `, marks: frames };
      return [label, ...blocksOf(node.children, frames, layout)];
    }
    case 'html':
      return harmless([{ kind: 'text', text: node.value, marks: frames }], dialect);
    default:
      return [];
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
  const first = list.start ?? 1;
  return list.children.flatMap((item, index) => {
    const inks = itemOf(item, list.ordered ? `${first + index}.` : null, frames, layout);
    return index === 0 ? inks : [list.spread ? PARAGRAPH : LINE, ...inks];
  });
}

function itemOf(item: ListItem, number: string | null, frames: readonly Mark[], layout: Layout): Ink[] {
  const { dialect, depth } = layout;
  const box = typeof item.checked === 'boolean' ? (item.checked ? '☑' : '☐') : null;
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

function languageOf(lang: string | null | undefined): string | null {
  return lang !== null && lang !== undefined && /^[A-Za-z0-9+#._-]{1,30}$/.test(lang) ? lang : null;
}

/** In code there are no links: their addresses are written out. */
function rowsOf(table: Table, { dialect, references }: Layout): string[][] {
  const inCode: Inlines = { dialect: { ...dialect, link: () => null }, references };
  return table.children.map(({ children }) =>
    children.map((cell) => textOf(runsOf(cell.children, [], [], inCode))),
  );
}

function rowByRow(table: Table, frames: readonly Mark[], layout: Layout): Ink[] {
  return table.children.flatMap(({ children }, row) => {
    const styles = row === 0 ? [layout.dialect.strong] : [];
    const runs = children.flatMap((cell, column) => {
      const inside = runsOf(cell.children, frames, styles, layout);
      return column === 0 ? inside : [{ kind: 'text' as const, text: ' | ', marks: frames }, ...inside];
    });
    const inks = harmless(runs, layout.dialect);
    return row === 0 ? inks : [LINE, ...inks];
  });
}
