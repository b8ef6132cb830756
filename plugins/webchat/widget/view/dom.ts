import { parseMarkdown, toPlainText } from '../markdown/parse.ts';

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An element with attributes (`true`: present, `false`: absent) and children. Strings become text nodes only. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children);
  return made;
}

export function set(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? '' : String(value));
  }
}

const SVG = 'http://www.w3.org/2000/svg';

/** Paths of outline icons on a 24 by 24 grid. */
const ICONS = {
  chat: 'M4 5.5h16v11h-9l-4.5 3.5v-3.5H4z',
  close: 'M6 6l12 12m0-12-12 12',
  restart: 'M4.5 12a7.5 7.5 0 1 0 2.4-5.5M7 3v4h4',
  send: 'M12 19V6M6.5 11.5 12 6l5.5 5.5',
  stop: 'M7.5 7.5h9v9h-9z',
  check: 'M5.5 12.5l4 4 9-9',
  cross: 'M7.5 7.5l9 9m0-9-9 9',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  down: 'M12 5v13M6.5 12.5 12 18l5.5-5.5',
  lock: 'M6.5 11h11v8.5h-11zM9 11V8a3 3 0 0 1 6 0v3',
  warning: 'M12 4.5 21 19.5H3zM12 10v4.5M12 16.8v.2',
} as const;

export type IconName = keyof typeof ICONS;

/** An icon. Screen readers ignore it, because there is a text next to it, or its control has a name. */
export function icon(name: IconName): SVGElement {
  return drawing(name, ICONS[name]);
}

/** An icon by its path. */
export function drawing(name: string, d: string): SVGElement {
  return picture({ viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon ${name}` }, d);
}

/** A picture that consists of one path. */
export function picture(attributes: Attributes, d: string): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  set(svg, attributes);
  const path = document.createElementNS(SVG, 'path');
  set(path, { d });
  svg.append(path);
  return svg;
}

export function button(
  attributes: Attributes,
  onClick: () => void,
  ...children: readonly (Node | string)[]
): HTMLButtonElement {
  const made = h('button', { type: 'button', ...attributes }, ...children);
  made.addEventListener('click', onClick);
  return made;
}

/** A button with an icon. Its name is read by screen readers, and shown on hover. */
export function iconButton(
  name: IconName,
  label: string,
  kind: string,
  onClick: () => void,
): HTMLButtonElement {
  return button({ class: kind, 'aria-label': label, title: label }, onClick, icon(name));
}

/** Maximum number of lines in the log. */
const MAX_LINES = 20;
/** The end of a sentence or a line, with closing quotes and brackets. */
const END = /[.!?…。！？؟۔]["'”’»)\]*_`~]*(?=\s)|\n/g;

/**
 * Announces new text to screen readers: sentences when they are complete, and no word twice. The transcript itself is
 * not announced, because it changes with each piece of a sentence.
 */
export class Announcer {
  readonly element = h('div', {
    class: 'heard',
    'aria-live': 'polite',
    role: 'log',
  });
  #entry = 0;
  /** How many characters of the entry have been announced. */
  #told = 0;

  /** @param label name of the log, for people who navigate the page by landmarks */
  constructor(label: string) {
    this.element.setAttribute('aria-label', label);
  }

  /** Announces the sentences of an entry that are now complete. */
  grow(entry: number, text: string, done: boolean): void {
    // The entry was announced before: an undo has restored it.
    if (entry < this.#entry) return;
    if (entry !== this.#entry) {
      this.#entry = entry;
      this.#told = 0;
    }
    const fresh = text.slice(this.#told);
    const end = done ? fresh.length : endOfSentences(fresh);
    if (end === 0) return;
    this.#told += end;
    this.say(toPlainText(parseMarkdown(withoutPipes(fresh.slice(0, end)))));
  }

  /** Treats the text of this entry as announced, because it is not new. */
  skip(entry: number, text: string): void {
    this.#entry = entry;
    this.#told = text.length;
  }

  /** Removes what was announced, so that nobody can read it again. */
  clear(): void {
    this.element.replaceChildren();
  }

  say(words: string): void {
    const line = words.replace(/\s+/g, ' ').trim();
    if (line === '') return;
    this.element.append(h('p', {}, line));
    if (this.element.childElementCount > MAX_LINES) this.element.firstElementChild?.remove();
  }
}

/** Rows of a table, which may arrive one by one, as their cells. */
function withoutPipes(text: string): string {
  return text.replace(/^ {0,3}\|(.*)\|[ \t]*$/gm, (_row, cells: string) =>
    /^[\s:|-]*$/.test(cells)
      ? ''
      : cells
          .split('|')
          .map((cell) => cell.trim())
          .join(', '),
  );
}

function endOfSentences(text: string): number {
  let end = 0;
  for (const { index, 0: mark } of text.matchAll(END)) end = index + mark.length;
  return end;
}
