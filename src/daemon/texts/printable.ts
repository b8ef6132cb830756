/**
 * Text from outside, made safe for a terminal: characters that could move its cursor, change colors, or begin a line
 * are replaced, and so are those that nobody sees, since names that look alike must be alike. This module alone decides
 * which characters these are.
 */
export function withoutControls(text: string): string {
  return withoutHidden(text, /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu);
}

/**
 * Like `withoutControls`, but keeps line feeds and tabs.
 * @param before the text that was printed before this one
 */
export function printableLines(text: string, before = ''): string {
  return withoutHidden(text, /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, { before });
}

/** Like `withoutControls`, on one line: line breaks become spaces. */
export function printable(text: string): string {
  return withoutControls(text.replace(/\s+/g, ' '));
}

/**
 * JSON that can be printed and split into lines. JSON itself escapes only some of the characters that control a
 * terminal, that a reader takes for the end of a line, or that nobody sees. The value stays the same.
 */
export function escapeControls(json: string): string {
  return withoutHidden(json, /[\u007f-\u009f\u2028\u2029\p{Default_Ignorable_Code_Point}]/gu, {
    replaced: (hidden) =>
      Array.from({ length: hidden.length }, (_, at) => hidden.charCodeAt(at))
        .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
        .join(''),
  });
}

/** How much text before a character decides whether its effect is seen. */
const CONTEXT = 5;

function withoutHidden(
  text: string,
  hidden: RegExp,
  {
    before = '',
    replaced = () => '\u{fffd}',
  }: { before?: string; replaced?(character: string): string } = {},
): string {
  return text.replace(hidden, (found: string, at: number) => {
    const left = at < CONTEXT ? before + text.slice(0, at) : text.slice(at - CONTEXT, at);
    return isSeen(left, found, text.slice(at + found.length)) ? found : replaced(found);
  });
}

/** Whether a character without a width changes what people see here: the form of an emoji, or of a word. */
function isSeen(left: string, character: string, right: string): boolean {
  if (character === '\ufe0e' || character === '\ufe0f')
    return /\p{Extended_Pictographic}\p{Emoji_Modifier}?$/u.test(left) || /^\u20e3/.test(right);
  if (/[\u{e0100}-\u{e01ef}]/u.test(character)) return /\p{Script=Han}$/u.test(left);
  if (!/[\u200b-\u200d]/.test(character)) return false;
  if (joins(left.slice(-1)) && joins(right.charAt(0))) return true;
  return (
    character === '\u200d' &&
    /\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?$/u.test(left) &&
    /^\p{Extended_Pictographic}/u.test(right)
  );
}

/** Whether a character belongs to a script in which joiners form words, or mark where they may be broken. */
function joins(character: string): boolean {
  return /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]/u.test(
    character,
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
