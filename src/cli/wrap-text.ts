/** However narrow the terminal is, a text beside a term has this many columns. */
const TEXT_MIN = 20;

/**
 * The lines of a text, each of at most `width` characters, broken at spaces. A longer word gets its own line and is not
 * broken, since it may be an id that people copy.
 */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** A term with its text beside it. All lines of the text begin in the same column. */
export function hang(
  term: string,
  text: string,
  { indent, width }: { indent: number; width: number },
): string {
  const lines = wrapText(text, Math.max(width - indent, TEXT_MIN));
  return `${term.padEnd(indent)}${lines.join(`\n${' '.repeat(indent)}`)}\n`;
}
