/**
 * Text from outside, made safe for a terminal: characters that could move its cursor, change colors, or begin a line
 * are replaced.
 */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '\u{fffd}');
}

/** Like `withoutControls`, but keeps line feeds and tabs. */
export function printableLines(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '\u{fffd}');
}

/** Like `withoutControls`, on one line: line breaks become spaces. */
export function printable(text: string): string {
  return withoutControls(text.replace(/\s+/g, ' '));
}

/**
 * JSON that can be printed and split into lines. JSON itself escapes only some of the characters that control a
 * terminal, or that a reader takes for the end of a line. The value stays the same.
 */
export function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A value for a line of `name=value` words, quoted if it could be read as more than one word. */
export function quoteValue(value: string): string {
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** The text, or its beginning with `…` if it has more characters than `max`. Half of a character is replaced. */
export function cutText(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
}

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
