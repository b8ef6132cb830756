import { wrapText } from '../daemon/admin/texts.ts';

/** However narrow the terminal is, a text beside a term has this many columns. */
const TEXT_MIN = 20;

/** A term with its text beside it. All lines of the text begin in the same column. */
export function hang(
  term: string,
  text: string,
  { indent, width }: { indent: number; width: number },
): string {
  const lines = wrapText(text, Math.max(width - indent, TEXT_MIN));
  return `${term.padEnd(indent)}${lines.join(`\n${' '.repeat(indent)}`)}\n`;
}
