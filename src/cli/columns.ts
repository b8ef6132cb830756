import { type Line, spansWidth } from './styled-text.ts';

/** Between two columns. */
export const GAP = '  ';

/** The width of a line with columns of these widths. */
export function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

/**
 * The widths of columns on a narrow terminal: takes the excess from the widest ones. The result may still be too wide.
 * @param least widths below which the columns are not made narrower
 */
export function narrowColumns(widths: readonly number[], least: readonly number[], width: number): number[] {
  const fitted = [...widths];
  for (let excess = totalWidth(fitted) - width; excess > 0; excess--) {
    const flexible = fitted.map((one, index) => (one > (least[index] ?? 0) ? one : 0));
    const widest = Math.max(...flexible);
    if (widest === 0) break;
    fitted[flexible.indexOf(widest)] = widest - 1;
  }
  return fitted;
}

/**
 * The lines of one row of a table: the lines of its cells, beside each other.
 * @param isRight whether a column is aligned at the right
 */
export function rowLines(
  cells: readonly (readonly Line[])[],
  widths: readonly number[],
  isRight: (column: number) => boolean = () => false,
): Line[] {
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, index) =>
    cells.flatMap((lines, column) => {
      const line = lines[index] ?? [];
      const blanks = { text: ' '.repeat(Math.max(0, (widths[column] ?? 0) - spansWidth(line))) };
      const padded = isRight(column) ? [blanks, ...line] : [...line, blanks];
      return column === 0 ? padded : [{ text: GAP }, ...padded];
    }),
  );
}
