import { segmenter } from '../segmenter.ts';

/** Maximum width of a table with aligned columns. Screens would wrap wider lines. */
const MAX_WIDTH = 100;
/** Matches characters with two columns in a monospaced font. */
const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;

/**
 * Writes a table as lines of monospaced text with a rule below its first row. Columns are aligned if that does not
 * take too much space.
 */
export function tableLines(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, ' ').trim()));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  const total = widths.reduce((sum, width) => sum + width + 3, -3);
  const written = cells.flat().reduce((sum, cell) => sum + cell.length + 3, 0);
  // Padding must not make a reply much longer.
  const isAligned = total <= MAX_WIDTH && total * rows.length <= 3 * written + 1000;
  const [head = [], ...body] = cells.map((row) =>
    row.map((cell, column) => (isAligned ? cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)) : cell)),
  );
  const rule = isAligned ? widths.map((width) => '-'.repeat(width)).join('-+-') : '---';
  return [head.join(' | '), rule, ...body.map((row) => row.join(' | '))]
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Width in columns of a monospaced font. */
function widthOf(text: string): number {
  if (!/[^ -~]/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter('grapheme').segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
