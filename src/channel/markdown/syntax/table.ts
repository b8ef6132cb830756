import type { StateBlock } from 'markdown-it';

/** Cells of the line below the head. */
const DELIMITER = /^:?-+:?$/;

/**
 * GitHub's tables (https://github.github.com/gfm/#tables-extension-). Unlike the parser's own rule, this rule keeps the
 * cells of a row that is longer than the head, and does not fill up shorter rows.
 */
export function table(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const head = headOf(state, startLine, endLine);
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
    pushRow(state, cellsOf(textOf(state, line)));
    line++;
  }
  state.push('table_close', 'table', -1);
  open.map = [startLine, line];
  state.parentType = parent;
  state.line = line;
  return true;
}

/** The cells of a table's head. Null if no table begins in this line. */
function headOf(state: StateBlock, line: number, endLine: number): string[] | null {
  if (line + 1 >= endLine || !isInBlock(state, line) || !isInBlock(state, line + 1)) return null;
  const below = textOf(state, line + 1);
  // A hyphen that is followed by a space begins a list item.
  if (!/^[|:-]/.test(below) || /^-\s/.test(below) || !/[|:]/.test(below)) return null;
  const delimiters = cellsOf(below);
  if (delimiters.length === 0 || !delimiters.every((cell) => DELIMITER.test(cell))) return null;
  const cells = cellsOf(textOf(state, line));
  return cells.length === delimiters.length ? cells : null;
}

/** Whether the line belongs to the block that is being read, and is not indented code. */
function isInBlock(state: StateBlock, line: number): boolean {
  const indent = (state.sCount[line] ?? 0) - state.blkIndent;
  return indent >= 0 && indent < 4;
}

function textOf(state: StateBlock, line: number): string {
  return state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]).trim();
}

function cellsOf(line: string): string[] {
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
