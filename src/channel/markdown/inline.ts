import type { Dialect, Mark } from './dialect.ts';
import type { Inline } from './tree.ts';

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
const MAX_URL = 1500;

/** @param styles marks that apply to all of `nodes`, inside `frames`: for example bold in a heading */
export function runsOf(
  nodes: readonly Inline[],
  frames: readonly Mark[],
  styles: readonly Mark[],
  dialect: Dialect,
): Run[] {
  return nodes.flatMap((node) => runsOfOne(node, frames, styles, dialect));
}

function runsOfOne(node: Inline, frames: readonly Mark[], styles: readonly Mark[], dialect: Dialect): Run[] {
  const text = (value: string): Run[] => [{ kind: 'text', text: value, marks: [...frames, ...styles] }];
  const styled = (children: readonly Inline[], mark: Mark): Run[] => {
    const isKept = !styles.includes(mark) && !styles.some(({ plain }) => plain === true);
    return runsOf(children, frames, isKept ? [...styles, mark] : styles, dialect);
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
      return codeSpan(node.value, frames, styles, dialect);
    case 'link':
      return linked(
        runsOf(node.children, frames, [], dialect),
        node.url,
        frames,
        styles,
        dialect,
        node.children,
      );
    case 'image': {
      const alt: Inline[] = node.alt === '' ? [] : [{ type: 'text', value: node.alt }];
      return linked(text(node.alt), node.url, frames, styles, dialect, alt);
    }
  }
}

/**
 * No platform understands code that is also bold, so code loses marks such as bold. Code within a link keeps the link
 * with its styles, and loses the code mark.
 */
function codeSpan(value: string, frames: readonly Mark[], styles: readonly Mark[], dialect: Dialect): Run[] {
  const text = value.replaceAll('`', dialect.lookalikes['`'] ?? '`');
  const isLinked = styles.some(
    (mark) => mark !== dialect.strong && mark !== dialect.emphasis && mark !== dialect.delete,
  );
  return [{ kind: 'code', text, marks: isLinked ? [...frames, ...styles] : [...frames, dialect.code] }];
}

function linked(
  plain: readonly Run[],
  target: string,
  frames: readonly Mark[],
  styles: readonly Mark[],
  dialect: Dialect,
  children: readonly Inline[],
): Run[] {
  const label = textOf(plain);
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
    return runsOf(children, frames, [...styles, mark], dialect).map((run) => ({
      ...run,
      text: run.text.replaceAll('\n', ' '),
    }));
  }
  const inside = runsOf(children, frames, styles, dialect);
  const shown = url?.replace(/^(mailto|tel):/i, '') ?? target;
  if (shown === '') return inside;
  const open: Run = { kind: 'text', text: label.trim() === '' ? '(' : ' (', marks };
  const address: Run = { kind: url === null ? 'text' : 'address', text: shown, marks };
  return [...inside, open, address, { kind: 'text', text: ')', marks }];
}

/** Whether the label is the address itself. The scheme, the letter case and a slash at the end are ignored. */
function isSame(label: string, url: string): boolean {
  const bare = (text: string) =>
    text
      .trim()
      .replace(/^(https?:\/\/|mailto:|tel:)/i, '')
      .replace(/\/$/, '')
      .toLowerCase();
  return bare(label) === bare(url);
}

/** The target of a link, encoded so that it cannot contain markup. Null if it must be shown as text. */
function safeUrl(target: string): string | null {
  if (!/^(https?:\/\/[^/]|mailto:.|tel:.)/i.test(target)) return null;
  return target.replace(/[\s\p{Cc}\p{Cf}<>"'|`\\^{}]/gu, (character) =>
    encodeURIComponent(character).replaceAll("'", '%27'),
  );
}

/** The visible text of the runs. */
export function textOf(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('');
}
