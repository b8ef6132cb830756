/** Escapes text for roff, the language under mdoc(7). */

/**
 * Plain text in which the characters that roff would interpret are escaped. The caller handles lines that begin with a
 * dot.
 */
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

/** Code that can be copied from a terminal: roff must not replace any of its characters with typographic ones. */
export function code(plain: string): string {
  return text(plain).replace(/[-'`^~]/g, (sign) => EXACT[sign] ?? sign);
}

/** Lines that are shown unchanged. */
export function literal(lines: string): string {
  return code(lines.replace(/\n$/, '')).replace(/^(?=\.)/gm, '\\&');
}

/** One argument of a macro. `isRoff`: whether the text is already escaped. */
export function quoted(plain: string, isRoff = false): string {
  return `"${(isRoff ? plain : text(plain)).replaceAll('"', '\\(dq')}"`;
}
