import { isClosing } from './parts.ts';

/**
 * The parser loses what is nested too deep, and looks from every open bracket to the end of the block. No reply of
 * a person or a model needs much of either: signs beyond these bounds are hidden from the parser, and are shown as
 * they were written.
 */

/** Quotations and lists that one line may begin. */
const MAX_CONTAINERS = 5;
/** A list that is indented by more columns is no list. */
const MAX_COLUMNS = 40;
/**
 * Lines that go on with a quotation or a list although they do not begin like it; the next one does not. Each
 * would be shown with the indentation of its list.
 */
const MAX_LAZY = 20;
/** Brackets of one block that may be open at once. */
const MAX_OPEN = 20;

const SIGNS = '[>-+*.)';
/** Noncharacters, one for each sign: no text that comes from elsewhere has them (`withoutTricks`). */
const FIRST_HIDDEN = 0xfdd0;
export const HIDDEN = /[\ufdd0-\ufdef]/g;

const HIDDEN_BY_SIGN = new Map(
  Array.from(SIGNS, (sign, index) => [sign, String.fromCharCode(FIRST_HIDDEN + index)]),
);

/** The signs that were hidden stand there again. */
export function shown(text: string): string {
  return text.replace(HIDDEN, (hidden) => SIGNS.charAt(hidden.charCodeAt(0) - FIRST_HIDDEN));
}

function hidden(signs: string): string {
  return Array.from(signs, (sign) => HIDDEN_BY_SIGN.get(sign) ?? sign).join('');
}

/** Markdown of which the parser sees no more than it reads in good time. */
export function tame(text: string): string {
  const tamer = new Tamer();
  return text
    .split('\n')
    .flatMap((line) => tamer.lines(line))
    .join('\n');
}

const RULE = /^[ \t]*([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const CONTAINER = /^([ \t]*)(>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$))/;

/** The beginnings of quotations and lists in a line, and what stands in the innermost. */
function withFewContainers(line: string): { containers: string; content: string } {
  let containers = '';
  let content = line;
  for (let count = 0; !RULE.test(content) && !UNDERLINE.test(content); count++) {
    const [found, white = '', sign = ''] = CONTAINER.exec(content) ?? [];
    if (found === undefined) break;
    content = content.slice(found.length);
    if (count === MAX_CONTAINERS || columnsOf(containers + white) > MAX_COLUMNS)
      return { containers: containers + white + hidden(sign), content };
    containers += found;
  }
  return { containers, content };
}

function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += character === '\t' ? 4 - (columns % 4) : 1;
  return columns;
}

class Tamer {
  /** That of the code block around the line. */
  #fence: string | null = null;
  /** Brackets that are open in the block so far. */
  #open = 0;
  /** The column from which on a line goes on in the innermost list; any line may, in a quotation. */
  #column = 0;
  #lazy = 0;

  /** The line, with an empty one before it if it ends the block above. */
  lines(line: string): string[] {
    // In a block of code nothing is a sign. One that begins in the first column stands in nothing else.
    if (this.#fence !== null) {
      if (isClosing(line, this.#fence)) this.#fence = null;
      return [line];
    }
    this.#fence = /^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[0] ?? null;
    if (this.#fence !== null) {
      this.#open = 0;
      this.#column = 0;
      return [line];
    }
    const { containers, content } = withFewContainers(line);
    if (content.trim() === '' || content.startsWith('#') || containers !== '') this.#open = 0;
    const tamed = containers + this.#withFewOpen(content);
    return this.#goesOnTooLong(containers, content) ? ['', tamed] : [tamed];
  }

  #goesOnTooLong(containers: string, content: string): boolean {
    if (containers !== '') {
      this.#column = containers.includes('>') ? Number.POSITIVE_INFINITY : columnsOf(containers) + 1;
      this.#lazy = 0;
    } else if (content.trim() === '') {
      this.#lazy = 0;
      if (this.#column === Number.POSITIVE_INFINITY) this.#column = 0;
    } else if (columnsOf(/^[ \t]*/.exec(content)?.[0] ?? '') < this.#column && ++this.#lazy > MAX_LAZY) {
      this.#lazy = 0;
      this.#column = 0;
      return true;
    }
    return false;
  }

  #withFewOpen(content: string): string {
    return content.replace(/[[\]]/g, (bracket) => {
      if (bracket === ']') {
        this.#open = Math.max(this.#open - 1, 0);
        return bracket;
      }
      if (this.#open === MAX_OPEN) return hidden(bracket);
      this.#open++;
      return bracket;
    });
  }
}
