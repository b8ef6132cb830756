import type { Definition, PhrasingContent } from 'mdast';
import type { Dialect, Mark } from './dialect.ts';

/** Text in marks, before it is cut into words. */
export interface Run {
  /** `code` and `address` are copied by people, and stand as they are. */
  readonly kind: 'text' | 'code' | 'address';
  readonly text: string;
  readonly marks: readonly Mark[];
}

export interface Inlines {
  dialect: Dialect;
  references: References;
}

/** What references refer to. A text that writes a long address once must not show it ten thousand times. */
export class References {
  readonly #urls: ReadonlyMap<string, string>;
  #room = 50_000;

  constructor(definitions: readonly Definition[]) {
    // The first of two with the same name counts.
    this.#urls = new Map(definitions.toReversed().map(({ identifier, url }) => [identifier, url]));
  }

  /** Empty: there is none, or there were too many. */
  urlOf(identifier: string): string {
    const url = this.#urls.get(identifier) ?? '';
    this.#room -= url.length;
    return this.#room < 0 ? '' : url;
  }
}

/** Longer addresses are no links: they stand behind their label, where a message can be cut. */
const MAX_URL = 1500;

/** @param styles what the whole block stands in within its frames: a heading is bold */
export function runsOf(
  nodes: readonly PhrasingContent[],
  frames: readonly Mark[],
  styles: readonly Mark[],
  inlines: Inlines,
): Run[] {
  return nodes.flatMap((node) => runsOfOne(node, frames, styles, inlines));
}

function runsOfOne(
  node: PhrasingContent,
  frames: readonly Mark[],
  styles: readonly Mark[],
  inlines: Inlines,
): Run[] {
  const { dialect, references } = inlines;
  const text = (value: string): Run[] => [{ kind: 'text', text: value, marks: [...frames, ...styles] }];
  const styled = (children: readonly PhrasingContent[], mark: Mark): Run[] => {
    const isKept = !styles.includes(mark) && !styles.some(({ plain }) => plain === true);
    return runsOf(children, frames, isKept ? [...styles, mark] : styles, inlines);
  };
  switch (node.type) {
    case 'text':
    case 'html':
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
        runsOf(node.children, frames, [], inlines),
        node.url,
        frames,
        styles,
        inlines,
        node.children,
      );
    case 'linkReference': {
      const url = references.urlOf(node.identifier);
      return linked(runsOf(node.children, frames, [], inlines), url, frames, styles, inlines, node.children);
    }
    case 'image':
      return linked(text(node.alt ?? ''), node.url, frames, styles, inlines, textNode(node.alt));
    case 'imageReference': {
      const url = references.urlOf(node.identifier);
      return linked(text(node.alt ?? ''), url, frames, styles, inlines, textNode(node.alt));
    }
    case 'footnoteReference':
      return text(`[${node.label ?? node.identifier}]`);
    default:
      return [];
  }
}

function textNode(alt: string | null | undefined): PhrasingContent[] {
  return alt ? [{ type: 'text', value: alt }] : [];
}

/** Code is no platform's bold; within a link it is the link that counts. */
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
  inlines: Inlines,
  children: readonly PhrasingContent[],
): Run[] {
  const label = textOf(plain);
  const url = safeUrl(target);
  const marks = [...frames, ...styles];
  const bare = url !== null && (label.trim() === '' || isSame(label, target));
  const mark =
    url === null || url.length > Math.min(MAX_URL, inlines.dialect.limit / 2)
      ? null
      : inlines.dialect.link(url);
  if (bare) {
    const shown = label.trim() === '' ? url : label.replace(/\s+/g, ' ');
    // With white space it is prose to every platform, and code comes before addresses.
    const kind = /[\s`]/.test(shown) ? 'text' : 'address';
    return [{ kind, text: shown, marks: mark === null ? marks : [...marks, mark] }];
  }
  if (mark !== null) {
    return runsOf(children, frames, [...styles, mark], inlines).map((run) => ({
      ...run,
      text: run.text.replaceAll('\n', ' '),
    }));
  }
  const inside = runsOf(children, frames, styles, inlines);
  const shown = url?.replace(/^(mailto|tel):/i, '') ?? target;
  if (shown === '') return inside;
  const open: Run = { kind: 'text', text: label.trim() === '' ? '(' : ' (', marks };
  const address: Run = { kind: url === null ? 'text' : 'address', text: shown, marks };
  return [...inside, open, address, { kind: 'text', text: ')', marks }];
}

/** The address stands there already, as it is written in prose. */
function isSame(label: string, url: string): boolean {
  const bare = (text: string) =>
    text
      .trim()
      .replace(/^(https?:\/\/|mailto:|tel:)/i, '')
      .replace(/\/$/, '')
      .toLowerCase();
  return bare(label) === bare(url);
}

/** What a link may lead to, written so that no markup can end in it; null: it is shown as text. */
function safeUrl(target: string): string | null {
  if (!/^(https?:\/\/[^/]|mailto:.|tel:.)/i.test(target)) return null;
  return target.replace(/[\s\p{Cc}\p{Cf}<>"'|`\\^{}]/gu, (character) =>
    encodeURIComponent(character).replaceAll("'", '%27'),
  );
}

/** What is seen of the runs. */
export function textOf(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('');
}
