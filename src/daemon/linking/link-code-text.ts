import { randomBytes } from 'node:crypto';

/** Digits and capital letters without 0, 1, I and O, which look like each other. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
/** 50 random bits. */
const LENGTH = 10;

/** A new link code. It has a digit, so that it is no word of a language. */
export function generateCode(): string {
  for (;;) {
    // 256 is a multiple of 32, so each letter is equally likely.
    const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]);
    const code = letters.join('');
    if (/\d/.test(code)) return code;
  }
}

const LETTER = '[2-9A-HJ-NP-Za-hj-np-z]';
/** People and keyboards put hyphens and dashes between letters. */
const SHAPE = String.raw`(?:${LETTER}\p{Pd}{0,3}){${LENGTH - 1}}${LETTER}`;
/** Begins after a percent-encoded character, too: the text of an address that sends a code. */
const WITHIN = new RegExp(
  String.raw`(?:(?<![\p{L}\p{N}])|(?<=%[0-9A-Fa-f]{2}))(?=(${SHAPE})(?![\p{L}\p{N}]))`,
  'gu',
);
const ALONE = new RegExp(String.raw`^(?:/?(?:[lL][iI][nN][kK]|[sS][tT][aA][rR][tT])\s+)?(${SHAPE})$`, 'u');

/** Shown instead of a code. The agent reads it. */
export const MASKED_CODE = '[link code that is not valid here]';

/** A text in the shape of a code, and its place in the text around it. */
interface WrittenCode {
  /** In the form in which codes are made. */
  code: string;
  begins_at: number;
  ends_at: number;
}

/** Searched first, because it is quick, and most texts have no word with as many letters as a code. */
const ANYWHERE = new RegExp(SHAPE, 'u');

/** All texts in the shape of a code within a text. They may overlap. */
export function codesIn(text: string): WrittenCode[] {
  if (!ANYWHERE.test(text)) return [];
  return Array.from(text.matchAll(WITHIN), ({ 1: written = '', index }) => ({
    code: normalizeCode(written),
    begins_at: index,
    ends_at: index + written.length,
  })).filter(({ begins_at, ends_at }) => isShaped(text.slice(begins_at, ends_at)));
}

/** The code that a text consists of, alone or after `link` or `/start`; null if it is another text. */
export function codeAlone(text: string): string | null {
  const written = ALONE.exec(text.trim())?.[1];
  return written !== undefined && isShaped(written) ? normalizeCode(written) : null;
}

/** A word such as "Restaurant" has the letters of a code, but no digit. */
function isShaped(written: string): boolean {
  return /\d/.test(written) || written === written.toUpperCase();
}

/** Case and hyphens make no difference. */
function normalizeCode(written: string): string {
  return written.replace(/\p{Pd}/gu, '').toUpperCase();
}

/** Replaces the codes in a text for which `isMeant` returns true. */
export function maskCodes(text: string, isMeant: (code: string) => boolean): string {
  let masked = '';
  let at = 0;
  for (const { code, begins_at, ends_at } of codesIn(text)) {
    if (ends_at <= at || !isMeant(code)) continue;
    if (begins_at >= at) masked += text.slice(at, begins_at) + MASKED_CODE;
    at = ends_at;
  }
  return masked + text.slice(at);
}
