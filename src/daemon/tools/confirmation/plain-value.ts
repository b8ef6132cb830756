import { domainToASCII } from 'node:url';

/** Characters without ink that Unicode counts as letters, marks or symbols. */
const NO_INK = String.raw`\u2800\ufffc\u{1d159}\u{13441}\u{13442}\u{16fe4}\u2d7f\u{1107f}`;
/** Marks that are seen only in the letter that follows them. */
const STACKERS = String.raw`\u1039\u17d2\u1a60\u{10a3f}\u{11133}\u{1193e}\u{11a47}\u{11a99}\u{11d45}\u{11d97}\u{11f42}`;
const HIDDEN = new RegExp(
  [
    // Characters that are invisible or reorder the text around them, and spaces other than a single normal space.
    String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}${NO_INK}]`,
    String.raw`(?! )\p{Zs}|(?<= ) `,
    String.raw`[${STACKERS}](?!\p{L})`,
    // A mark without a letter changes the sign before it, and many marks cover the lines around them.
    String.raw`(?<![\p{L}\p{N}\p{M}])\p{M}|(?<=\p{Default_Ignorable_Code_Point})\p{M}|(?<=\p{M}{4})\p{M}`,
  ].join('|'),
  'gu',
);
/** Characters that are written from right to left: all blocks that Unicode reserves for such scripts. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const NON_ASCII = /[^\x00-\x7f]/gu;

/** A character that can occur in a host name, or that is normalized to such a character. */
const LETTER = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}_-]`;
const LABEL = `(?:${LETTER})+`;
const DOT = String.raw`[.\u3002\uff0e\uff61]`;
const HOSTS: readonly RegExp[] = [
  // After `//` and `@`, even a single label is a host name.
  `(?<=//|@)${LABEL}(?:${DOT}${LABEL})*`,
  // `。` also ends a sentence: it is a dot of a host name only if a Latin word follows without a space. A match begins
  // at the first label: if it could begin at any label, a long text would be scanned once for each.
  String.raw`(?<![\p{L}\p{M}\p{N}_-])(?<!${LETTER}${DOT})${LABEL}(?:${DOT}${LABEL})*\u3002[A-Za-z]{2,63}(?![\p{L}\p{M}\p{N}])`,
  String.raw`(?<![\p{L}\p{M}\p{N}_-])${LABEL}(?:[.\uff0e\uff61]${LABEL})+`,
].map((source) => new RegExp(source, 'gu'));

/**
 * A value as a person sees it in a question: on one line, with nothing hidden in it. Only texts are quoted, so that
 * `"5"` and `5` differ; all other values are JSON. Nothing is shortened.
 */
export function shownValue(value: unknown): string {
  return typeof value === 'string' ? quoteText(value) : visible(JSON.stringify(value));
}

/** A text in quotes. Quotes and backslashes are escaped, so that no text can end its own quotes. */
function quoteText(text: string): string {
  return `"${visible(text.replace(/["\\]/g, '\\$&'))}"`;
}

/** The name of an argument. A model chooses the names of members of a free-form object. */
export function shownName(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : quoteText(name);
}

/**
 * A text on one line with nothing hidden in it. Host names are in ASCII form, which exposes letters of other scripts
 * that look like Latin letters.
 */
export function visible(text: string): string {
  return HOSTS.reduce((shown, host) => shown.replace(host, asciiHost), text).replace(HIDDEN, escapeCharacter);
}

/** Whether something in the text is written from right to left. */
export function isRightToLeft(text: string): boolean {
  return RIGHT_TO_LEFT.test(text);
}

/**
 * The text with its own direction, so that it and the text around it do not reorder each other. Only these two
 * characters are ever added; those of a value are shown as escapes.
 */
export function isolateText(text: string): string {
  return `\u2068${text}\u2069`;
}

function asciiHost(host: string): string {
  if (host.search(NON_ASCII) === -1) return host;
  const ascii = domainToASCII(host);
  return ascii === '' ? host.replace(NON_ASCII, escapeCharacter) : ascii;
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `\n`, `\u200b`, `\u{e0041}`: as in JavaScript. */
function escapeCharacter(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return SHORT[character] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`);
}
