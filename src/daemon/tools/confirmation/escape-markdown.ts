/** `_` is markup only at the edge of a word, `&` only in a character reference, `:` only in an address. */
const INLINE =
  /[\\`*~[\]<]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?[A-Za-z0-9]+;)|:(?=\/\/)|(?<=\bwww)\./giu;
/** A heading, a quotation, a list or the line below a heading. */
const LINE_START = /^(\s*)([#>+=-]|\d{1,9}(?=[.)]))/;

/** Escapes a line of text, so that nothing in it is markup in CommonMark with GitHub's extensions. */
export function escapeMarkdown(line: string): string {
  return line
    .replace(INLINE, '\\$&')
    .replace(LINE_START, (_, space: string, sign: string) =>
      /\d/.test(sign) ? `${space}${sign}\\` : `${space}\\${sign}`,
    );
}
