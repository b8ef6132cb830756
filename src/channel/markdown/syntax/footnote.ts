import type { Env, StateBlock, StateInline } from 'markdown-it';

const DEFINITION = /\[\^([^\s[\]]{1,999})\]:[ \t]*/y;
const REFERENCE = /\[\^([^\s[\]]{1,999})\]/y;
/** Indentation of the text of a footnote, columns. */
const INDENT = 4;

/** The labels of a reply's footnotes. */
function labelsOf(env: Env): Set<unknown> {
  env.footnotes ??= new Set();
  return env.footnotes as Set<unknown>;
}

/** `[^label]: text`, a block that contains blocks. */
export function footnote(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const begin = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  const indent = state.sCount[startLine] ?? 0;
  if (indent - state.blkIndent >= 4) return false;
  DEFINITION.lastIndex = begin;
  const [found, label = ''] = DEFINITION.exec(state.src) ?? [];
  if (found === undefined) return false;
  if (silent) return true;

  labelsOf(state.env).add(state.md.utils.normalizeReference(label));
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
export function footnoteReference(state: StateInline, silent: boolean): boolean {
  REFERENCE.lastIndex = state.pos;
  const [found, label = ''] = REFERENCE.exec(state.src) ?? [];
  if (found === undefined || state.pos + found.length > state.posMax) return false;
  if (!labelsOf(state.env).has(state.md.utils.normalizeReference(label))) return false;
  if (!silent) state.push('footnote_reference', '', 0).content = label;
  state.pos += found.length;
  return true;
}
