/** Escapes text for roff, the language under mdoc(7). */

/** Text as it is; what roff would take for its own is escaped. A line that begins with a dot is left to the caller. */
export function text(plain: string): string {
  return plain
    .replaceAll('\\', '\\e')
    .replace(
      /[^\p{ASCII}\p{Co}]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}

const EXACT: Readonly<Record<string, string>> = {
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
};

/** Code, to be copied from a terminal: none of its signs is made prettier. */
export function code(plain: string): string {
  return text(plain).replace(/[-'`^~]/g, (sign) => EXACT[sign] ?? sign);
}

/** Lines that are shown as they are. */
export function literal(lines: string): string {
  return code(lines.replace(/\n$/, '')).replace(/^(?=\.)/gm, '\\&');
}

/** One argument of a macro. `isRoff`: it is escaped already. */
export function quoted(plain: string, isRoff = false): string {
  return `"${(isRoff ? plain : text(plain)).replaceAll('"', '\\(dq')}"`;
}
