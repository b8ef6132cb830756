/** Characters that are read at once: this bounds how long reading holds the event loop. */
const MAX_PART = 16_000;

const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/;

/**
 * Markdown in parts that can be read one after the other. It is cut where a paragraph begins in the first column;
 * else before a line, and else, where a line alone is longer, between words. A block of code that is cut is a
 * block in both parts.
 */
export function partsOf(text: string): string[] {
  if (text.length <= MAX_PART) return [text];
  const parts: string[] = [];
  let lines: string[] = [];
  let length = 0;
  /** The opening line of the code block around the line. Only one in the first column stands in nothing else. */
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
