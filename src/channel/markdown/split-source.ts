/** Maximum number of characters that are parsed at once. This limits how long the parser blocks the event loop. */
const MAX_PART = 16_000;

const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/;

/**
 * Splits Markdown into parts that can be parsed one after the other. It splits between an empty line and a line without
 * indentation if possible, otherwise before any line, otherwise between the words of a very long line. A code block
 * that is split becomes a code block in both parts.
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
  return line.length <= MAX_PART
    ? [line]
    : (line.match(new RegExp(`[^]{1,${MAX_PART / 2}}(?:\\s|$)|[^]{1,${MAX_PART / 2}}`, 'gu')) ?? []);
}

export function isClosing(line: string, opening: string): boolean {
  const closing = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1];
  return closing?.startsWith(FENCE.exec(opening)?.[0] ?? opening) === true;
}
