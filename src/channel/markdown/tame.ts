import { isClosing } from './parts.ts';

/**
 * The time that Markdown takes to read grows with the square of what may pair in a block, and with the depth of
 * its quotations and lists; no reply of a person or a model needs much of either. What is beyond measure is
 * hidden from the parser, and stands in the text as it was written.
 */

/** Quotations and lists that one line may begin. */
const MAX_CONTAINERS = 5;
/** Where many lines begin more than two, those after them may begin two. */
const MAX_NESTED = 200;
/** A list that is indented by more columns is no list. */
const MAX_COLUMNS = 40;
/** Lines that go on with a quotation or a list although they do not begin like it; the next one does not. */
const MAX_LAZY = 20;
/** Headings that are written as such by the line below. */
const MAX_UNDERLINES = 100;
/** Signs of one block that are free. */
const FREE_SIGNS = 40;
/** How many pairs of signs may be compared in the blocks that have more. */
const MAX_PAIRS = 500_000;

const SIGNS = '*_~[]`>-+.)=';
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
  return new Tamer().lines(text.split('\n')).join('\n');
}

const RULE = /^[ \t]*([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const CONTAINER = /^([ \t]*)(>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$))/;

/** The beginnings of quotations and lists in a line, and what stands in the innermost. */
function withFewContainers(
  line: string,
  max: number,
): { containers: string; content: string; begun: number } {
  let containers = '';
  let content = line;
  let begun = 0;
  for (let count = 0; !RULE.test(content) && !UNDERLINE.test(content); count++) {
    const [found, white = '', sign = ''] = CONTAINER.exec(content) ?? [];
    if (found === undefined) break;
    const after = content.slice(found.length);
    if (count === max || columnsOf(containers + white) > MAX_COLUMNS) {
      return { containers: containers + white + hidden(sign), content: after, begun };
    }
    containers += found;
    begun++;
    content = after;
  }
  return { containers, content, begun };
}

function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += character === '\t' ? 4 - (columns % 4) : 1;
  return columns;
}

class Tamer {
  /** That of the code block around the line. */
  #fence: string | null = null;
  /** The column from which on a line goes on in the innermost list; any line may, in a quotation. */
  #column = 0;
  #lazy = 0;
  #nested = 0;
  #underlines = 0;
  #signs = 0;
  #pairs = 0;

  lines(lines: readonly string[]): string[] {
    return lines.flatMap((line) => {
      // In a block of code nothing pairs. One that begins in the first column stands in nothing else.
      if (this.#fence !== null) {
        if (isClosing(line, this.#fence)) this.#fence = null;
        return [line];
      }
      this.#fence = /^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[0] ?? null;
      if (this.#fence === null) return this.#line(line);
      this.#signs = 0;
      this.#column = 0;
      return [line];
    });
  }

  #line(line: string): string[] {
    const max = this.#nested > MAX_NESTED ? 2 : MAX_CONTAINERS;
    const { containers, content, begun } = withFewContainers(line, max);
    this.#nested += Math.max(begun - 2, 0);
    if (content.trim() === '' || content.startsWith('#') || containers !== '') this.#signs = 0;
    const tamed = containers + this.#content(content);
    if (containers !== '') {
      this.#column = containers.includes('>') ? Number.POSITIVE_INFINITY : columnsOf(containers) + 1;
      this.#lazy = 0;
    } else if (content.trim() === '') {
      this.#lazy = 0;
      if (this.#column === Number.POSITIVE_INFINITY) this.#column = 0;
    } else if (columnsOf(/^[ \t]*/.exec(content)?.[0] ?? '') < this.#column) {
      this.#lazy++;
      if (this.#lazy > MAX_LAZY) {
        this.#lazy = 0;
        this.#column = 0;
        return ['', tamed];
      }
    }
    return [tamed];
  }

  #content(content: string): string {
    if (RULE.test(content)) return content;
    if (UNDERLINE.test(content) && ++this.#underlines > MAX_UNDERLINES) return hidden(content);
    return content.replace(/\*+|_+|~+|`+|[[\]]/g, (signs) => {
      // Of these two every sign may pair for itself, or with its neighbour.
      const weight = /[*_]/.test(signs) ? Math.ceil(signs.length / 2) : 1;
      this.#signs += weight;
      if (this.#signs > FREE_SIGNS) this.#pairs += this.#signs * weight;
      return this.#pairs > MAX_PAIRS && this.#signs > FREE_SIGNS ? hidden(signs) : signs;
    });
  }
}
