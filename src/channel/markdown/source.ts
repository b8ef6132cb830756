import { SENTENCE_SIGNS, SENTENCE_WITHIN } from './tokens.ts';

/**
 * Limits the work of the parser. The parser drops text that is nested too deeply, and from every open bracket it
 * searches to the end of the block. People and models need little nesting and few brackets, so further signs are hidden
 * from the parser and shown as text.
 */

/** Maximum number of quotations and lists that one line may begin. */
const MAX_CONTAINERS = 5;
/** Maximum indentation of a quotation or list, columns. With more indentation, its sign is text. */
const MAX_COLUMNS = 40;
/**
 * Maximum number of lines that continue a quotation or a list without its sign. Each of these lines would be shown with
 * the indentation of the list.
 */
const MAX_LAZY = 20;
/** Maximum number of open brackets in one block. */
const MAX_OPEN = 20;

const SIGNS = '[>-+*.)';
/**
 * The first of the noncharacters that replace the signs, one for each sign. `stripReserved` has removed all of them
 * from the text.
 */
const FIRST_HIDDEN = 0xfdd0;
export const HIDDEN = /[\ufdd0-\ufdef]/g;

const HIDDEN_BY_SIGN = new Map(
  Array.from(SIGNS, (sign, index) => [sign, String.fromCharCode(FIRST_HIDDEN + index)]),
);

/** Replaces the noncharacters with the signs that were hidden. */
export function restoreSigns(text: string): string {
  return text.replace(HIDDEN, (hidden) => SIGNS.charAt(hidden.charCodeAt(0) - FIRST_HIDDEN));
}

function hideSigns(signs: string): string {
  return Array.from(signs, (sign) => HIDDEN_BY_SIGN.get(sign) ?? sign).join('');
}

/** Hides signs from the parser so that it reads the text in bounded time. */
export function limitNesting(text: string): string {
  const limiter = new NestingLimiter();
  return text
    .split('\n')
    .flatMap((line) => limiter.lines(line))
    .join('\n');
}

/** The beginning of a code block. */
export const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/;
const RULE = /^[ \t]*([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const CONTAINER = /^([ \t]*)(>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$))/;

/** Splits a line into the signs of its quotations and lists, and the content. Hides the first sign beyond a limit. */
function withFewContainers(line: string): { containers: string; content: string } {
  let containers = '';
  let content = line;
  for (let count = 0; !RULE.test(content) && !UNDERLINE.test(content); count++) {
    const [found, white = '', sign = ''] = CONTAINER.exec(content) ?? [];
    if (found === undefined) break;
    content = content.slice(found.length);
    if (count === MAX_CONTAINERS || countColumns(containers + white) > MAX_COLUMNS)
      return { containers: containers + white + hideSigns(sign), content };
    containers += found;
  }
  return { containers, content };
}

function countColumns(text: string): number {
  let columns = 0;
  for (const character of text) columns += character === '\t' ? 4 - (columns % 4) : 1;
  return columns;
}

class NestingLimiter {
  /** Fence of the code block around the line. */
  #fence: string | null = null;
  /** Number of brackets that are open in the block so far. */
  #open = 0;
  /**
   * A line without a sign that begins before this column counts toward `MAX_LAZY`. In a quotation, every line without a
   * sign counts.
   */
  #column = 0;
  #lazy = 0;

  /** Returns the line with some signs hidden, and an empty line before it if it must not continue the block above. */
  lines(line: string): string[] {
    // Signs in a code block are text. A block that begins in the first column is inside no other block.
    if (this.#fence !== null) {
      if (isClosing(line, this.#fence)) this.#fence = null;
      return [line];
    }
    this.#fence = FENCE.exec(line)?.[0] ?? null;
    if (this.#fence !== null) {
      this.#open = 0;
      this.#column = 0;
      return [line];
    }
    const { containers, content } = withFewContainers(line);
    if (content.trim() === '' || content.startsWith('#') || containers !== '') this.#open = 0;
    const limited = containers + this.#withFewOpen(content);
    return this.#goesOnTooLong(containers, content) ? ['', limited] : [limited];
  }

  #goesOnTooLong(containers: string, content: string): boolean {
    if (containers !== '') {
      this.#column = containers.includes('>') ? Number.POSITIVE_INFINITY : countColumns(containers) + 1;
      this.#lazy = 0;
    } else if (content.trim() === '') {
      this.#lazy = 0;
      if (this.#column === Number.POSITIVE_INFINITY) this.#column = 0;
    } else if (countColumns(/^[ \t]*/.exec(content)?.[0] ?? '') < this.#column && ++this.#lazy > MAX_LAZY) {
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
      if (this.#open === MAX_OPEN) return hideSigns(bracket);
      this.#open++;
      return bracket;
    });
  }
}

/**
 * Removes characters that reorder or hide the text around them: controls, and bidirectional embeddings and overrides.
 * Bidirectional marks and isolates are kept, because right-to-left texts need them. Noncharacters are removed,
 * because `limitNesting` uses them.
 */
export function stripReserved(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/g, '')
    .replace(HIDDEN, '');
}

/** Maximum number of characters that are parsed at once. This limits how long the parser blocks the event loop. */
const MAX_PART = 16_000;
const [SHORTEST, LONGEST] = [MAX_PART / 4, MAX_PART / 2];
/** A piece of a very long line. */
const PIECE = new RegExp(
  [
    `[^]{${SHORTEST},${LONGEST}}(?:(?=\\s|$)(?<=${SENTENCE_SIGNS})\\s?|${SENTENCE_WITHIN.source})`,
    `[^]{1,${LONGEST}}(?:\\s|$)`,
    `[^]{1,${LONGEST}}`,
  ].join('|'),
  'gu',
);

/**
 * Splits Markdown into parts that can be parsed one after the other. It splits between an empty line and a line without
 * indentation if possible, otherwise before any line, otherwise between the sentences or words of a very long line.
 * A code block that is split becomes a code block in both parts.
 */
export function splitSource(text: string): string[] {
  if (text.length <= MAX_PART) return [text];
  const parts: string[] = [];
  let lines: string[] = [];
  let length = 0;
  /** The opening line of the code block that the line is in. A block in the first column is inside no other block. */
  let fence: string | null = null;
  const end = () => {
    const closing = fence === null ? [] : [FENCE.exec(fence)?.[0] ?? ''];
    parts.push([...lines, ...closing].join('\n'));
    lines = fence === null ? [] : [fence];
    length = 0;
  };
  let isAfterBlank = true;
  for (const line of text.split('\n').flatMap(inShorterLines)) {
    const isGoodPlace = fence === null && isAfterBlank && /^[^\s]/.test(line);
    if (length + line.length > MAX_PART || (isGoodPlace && length > MAX_PART / 2)) end();
    lines.push(line);
    length += line.length + 1;
    isAfterBlank = line.trim() === '';
    if (fence !== null) {
      if (isClosing(line, fence)) fence = null;
    } else if (FENCE.test(line)) fence = line.slice(0, 100);
  }
  end();
  return parts;
}

function inShorterLines(line: string): string[] {
  return line.length <= MAX_PART ? [line] : (line.match(PIECE) ?? []);
}

export function isClosing(line: string, opening: string): boolean {
  const closing = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1];
  return closing?.startsWith(FENCE.exec(opening)?.[0] ?? opening) === true;
}
