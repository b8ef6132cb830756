import type { Delimiter, StateInline } from 'markdown-it';

const TILDE = 0x7e;
/** Identifies a single tilde in the list of delimiters. One tilde is closed by one tilde, and two by two. */
const ONE = -1;
const TWO = -2;

/** GitHub's strikethrough with one or two tildes. The parser's own rule supports only two. */
export function strikethrough(state: StateInline, silent: boolean): boolean {
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
export function pairStrikethrough(state: StateInline): void {
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
