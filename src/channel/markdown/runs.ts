import type { Inline } from './build-tree.ts';
import type { Dialect, Mark } from './dialect.ts';
import { splitWords, type Token } from './tokens.ts';

/** `@name`, but not inside an e-mail address. */
const MENTION = /(?<![\p{L}\p{N}_])@(?=[\p{L}\p{N}_])/gu;
/** An invisible character between `@` and a name, so that the platform does not recognize the name. */
const SILENCER = '\u2060';
const LETTER = /[\p{L}\p{M}\p{N}_]/u;

/**
 * Turns the runs of a block into tokens. Names that would notify people and characters that would be markup are
 * escaped.
 */
export function escapeRuns(runs: readonly Run[], dialect: Dialect): Token[] {
  let safe = runs;
  for (const [sign, lookalike] of Object.entries(dialect.lookalikes))
    safe = replacePairs(safe, sign, lookalike);
  return safe.flatMap(({ kind, text, marks }) =>
    // A reply must not notify anybody. In code and addresses, platforms do not look for names.
    splitWords(kind === 'text' ? text.replace(MENTION, `@${SILENCER}`) : text, marks),
  );
}

/** A character that could begin or end markup. */
interface Sign {
  run: number;
  at: number;
  line: number;
  begins: boolean;
  ends: boolean;
}

/**
 * Replaces signs that could form a pair with their lookalike. A sign that is alone on its line is kept, unless a mark
 * of the block consists of the same sign.
 */
function replacePairs(runs: readonly Run[], sign: string, lookalike: string): readonly Run[] {
  const signs = signsIn(runs, sign);
  if (signs.length === 0) return runs;
  const isUsed = runs.some(({ marks }) => marks.some(({ open }) => open === sign));
  const lines = Map.groupBy(signs, ({ line }) => line);
  const replaced = new Map<number, Set<number>>();
  for (const inLine of lines.values()) {
    const first = inLine.findIndex(({ begins }) => begins);
    const last = inLine.findLastIndex(({ ends }) => ends);
    if (!isUsed && (first === -1 || last <= first)) continue;
    for (const { run, at } of inLine) {
      const places = replaced.get(run) ?? new Set();
      replaced.set(run, places.add(at));
    }
  }
  return runs.map((run, index) => {
    const places = replaced.get(index);
    if (places === undefined) return run;
    return {
      ...run,
      text: run.text.replaceAll(sign, (found, at: number) => (places.has(at) ? lookalike : found)),
    };
  });
}

function signsIn(runs: readonly Run[], sign: string): Sign[] {
  let line = 0;
  return runs.flatMap(({ kind, text }, run) => {
    const signs: Sign[] = [];
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '\n') line++;
      if (text[at] !== sign || kind !== 'text') continue;
      // Where a run begins or ends, the neighbor may be another run or a mark.
      const before = text[at - 1];
      const after = text[at + 1];
      const begins =
        (before === undefined || !LETTER.test(before)) && (after === undefined || !/\s/.test(after));
      const ends =
        (after === undefined || !LETTER.test(after)) && (before === undefined || !/\s/.test(before));
      if (begins || ends) signs.push({ run, at, line, begins, ends });
    }
    return signs;
  });
}

/** Text with its marks, before it is split into words. */
export interface Run {
  /** People copy runs of the kinds `code` and `address`, so `escapeRuns` does not change their text. */
  readonly kind: 'text' | 'code' | 'address';
  readonly text: string;
  readonly marks: readonly Mark[];
}

/**
 * Maximum length of an address that becomes a link, UTF-16 units. A longer one is written as text after its label, and
 * a message can be cut within that text.
 */
export const MAX_URL = 1500;

/** What surrounds inline nodes. */
export interface Surroundings {
  readonly dialect: Dialect;
  /** The marks of the blocks around the nodes. */
  readonly frames: readonly Mark[];
  /** Marks inside `frames` that apply to all of the nodes, for example bold in a heading. */
  readonly styles: readonly Mark[];
}

export function toRuns(nodes: readonly Inline[], around: Surroundings): Run[] {
  return nodes.flatMap((node) => runsOfOne(node, around));
}

function runsOfOne(node: Inline, around: Surroundings): Run[] {
  const { dialect, frames, styles } = around;
  const text = (value: string): Run[] => [{ kind: 'text', text: value, marks: [...frames, ...styles] }];
  const styled = (children: readonly Inline[], mark: Mark): Run[] => {
    const isKept = !styles.includes(mark) && !styles.some(({ plain }) => plain === true);
    return toRuns(children, isKept ? { ...around, styles: [...styles, mark] } : around);
  };
  switch (node.type) {
    case 'text':
      return text(node.value);
    case 'break':
      return text('\n');
    case 'strong':
      return styled(node.children, dialect.strong);
    case 'emphasis':
      return styled(node.children, dialect.emphasis);
    case 'delete':
      return styled(node.children, dialect.delete);
    case 'inlineCode':
      return codeSpan(node.value, around);
    case 'link':
      return linkRuns(node.url, node.children, around);
    case 'image':
      return linkRuns(node.url, node.alt === '' ? [] : [{ type: 'text', value: node.alt }], around);
  }
}

/**
 * No platform understands code that is also bold, so code loses marks such as bold. Code within a link keeps the link
 * with its styles, and loses the code mark.
 */
function codeSpan(value: string, { dialect, frames, styles }: Surroundings): Run[] {
  const text = value.replaceAll('`', dialect.lookalikes['`'] ?? '`');
  const isLinked = styles.some(
    (mark) => mark !== dialect.strong && mark !== dialect.emphasis && mark !== dialect.delete,
  );
  return [{ kind: 'code', text, marks: isLinked ? [...frames, ...styles] : [...frames, dialect.code] }];
}

function linkRuns(target: string, children: readonly Inline[], around: Surroundings): Run[] {
  const { dialect, frames, styles } = around;
  const label = joinText(toRuns(children, { ...around, styles: [] }));
  const url = safeUrl(target);
  const marks = [...frames, ...styles];
  const bare = url !== null && (label.trim() === '' || isSame(label, target));
  const mark = url === null || url.length > Math.min(MAX_URL, dialect.limit / 2) ? null : dialect.link(url);
  if (bare) {
    const shown = label.trim() === '' ? url : label.replace(/\s+/g, ' ');
    // Platforms would read white space as the end of the address, and a backtick as the beginning of code.
    const kind = /[\s`]/.test(shown) ? 'text' : 'address';
    return [{ kind, text: shown, marks: mark === null ? marks : [...marks, mark] }];
  }
  if (mark !== null) {
    return toRuns(children, { ...around, styles: [...styles, mark] }).map((run) => ({
      ...run,
      text: run.text.replaceAll('\n', ' '),
    }));
  }
  const inside = toRuns(children, around);
  const shown = url?.replace(/^(mailto|tel):/i, '') ?? target;
  if (shown === '') return inside;
  const open: Run = { kind: 'text', text: label.trim() === '' ? '(' : ' (', marks };
  const address: Run = { kind: url === null ? 'text' : 'address', text: shown, marks };
  return [...inside, open, address, { kind: 'text', text: ')', marks }];
}

/** Whether the label is the address itself. The scheme, the letter case and a slash at the end are ignored. */
export function isSame(label: string, url: string): boolean {
  const bare = (text: string) =>
    text
      .trim()
      .replace(/^(https?:\/\/|mailto:|tel:)/i, '')
      .replace(/\/$/, '')
      .toLowerCase();
  return bare(label) === bare(url);
}

/** The target of a link, encoded so that it cannot contain markup. Null if it must be shown as text. */
export function safeUrl(target: string): string | null {
  if (!/^(https?:\/\/[^/]|mailto:.|tel:.)/i.test(target)) return null;
  return target.replace(/[\s\p{Cc}\p{Cf}<>"'|`\\^{}]/gu, (character) =>
    encodeURIComponent(character).replaceAll("'", '%27'),
  );
}

export function joinText(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('');
}
