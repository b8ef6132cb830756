import type { Seal } from '../identity/seal.ts';
import type { Store } from '../store/store.ts';

/** Keeps the hashes of codes apart from other keyed hashes. */
const PURPOSE = 'link code';

/** 50 random bits. */
export const CODE_LENGTH = 10;

/** The hashes under which a code may be stored, one for each key; new codes are stored under the first. */
export function codeHashes(seal: Seal, code: string): readonly [string, ...string[]] {
  return seal.digests(code, PURPOSE);
}

type Lookup = { store: Pick<Store, 'linkCodes'>; seal: Seal };

/**
 * The codes in a text that are codes of a person, or were a short time ago, with the hash under which each is stored.
 * The store is read only if a part of the text has the shape of a code.
 */
export async function knownCodesIn(text: string, { store, seal }: Lookup): Promise<Map<string, string>> {
  const written = codesIn(text);
  if (written.length === 0) return new Map();
  const hashes = new Map(written.map(({ code }) => [code, codeHashes(seal, code)]));
  const known = await store.linkCodes.known([...hashes.values()].flat());
  const found = new Map<string, string>();
  for (const [code, stored] of hashes) for (const hash of stored) if (known.has(hash)) found.set(code, hash);
  return found;
}

/** A text in which every code of a person is masked. */
export function withoutCodes(text: string, services: Lookup): string | Promise<string> {
  if (codesIn(text).length === 0) return text;
  return knownCodesIn(text, services).then((known) => maskCodes(text, known));
}

/** Also in the wide form of Chinese, Japanese and Korean keyboards. */
const LETTER = '[2-9A-HJ-NP-Za-hj-np-z２-９Ａ-ＨＪ-ＮＰ-Ｚａ-ｈｊ-ｎｐ-ｚ]';
/** Hyphens and dashes, which people and keyboards put between letters, and what comes invisibly with a copied text. */
const BETWEEN = String.raw`\p{Pd}\p{Cf}`;
/** Within a text also spaces: whoever reads the text could use the code. */
const BETWEEN_WITHIN = String.raw`${BETWEEN}\s`;
const shapeOf = (letter: string, between: string) =>
  `(?:${letter}[${between}]{0,3}){${CODE_LENGTH - 1}}${letter}`;
const SPACED = shapeOf(LETTER, BETWEEN_WITHIN);
/** Scripts without spaces may be directly beside a code. */
const WORD = String.raw`[\p{Script=Latin}\p{N}]`;
/** Begins after a percent-encoded character, too: the text of an address that sends a code. */
const WITHIN = new RegExp(`(?:(?<!${WORD})|(?<=%[0-9A-Fa-f]{2}))(?=(${SPACED})(?!${WORD}))`, 'gu');
/** Without spaces, since an order to hurry is no code: CALL ME ASAP. */
const ALONE = new RegExp(
  String.raw`^(?:/?(?:[lL][iI][nN][kK]|[sS][tT][aA][rR][tT])\s+)?(${shapeOf(LETTER, BETWEEN)})$`,
  'u',
);

/** Shown instead of a code. The agent reads it. */
export const MASKED_CODE = '[link code that is not valid here]';

/** A text in the shape of a code, and its place in the text around it. */
interface WrittenCode {
  /** In the form in which codes are made. */
  code: string;
  begins_at: number;
  ends_at: number;
}

/** Searched first, because it is quick: most texts have neither a digit of a code nor ten capital letters in a row. */
const ANYWHERE = new RegExp(`[2-9２-９]|${shapeOf('\\p{Lu}', BETWEEN_WITHIN)}`, 'u');

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
  return /\p{N}/u.test(written) || written === written.toUpperCase();
}

/** Case, the width of letters, and what is between them make no difference. */
function normalizeCode(written: string): string {
  return written
    .normalize('NFKC')
    .replace(/[^A-Za-z\d]/g, '')
    .toUpperCase();
}

/** Replaces these codes in a text. */
export function maskCodes(text: string, known: Pick<ReadonlySet<string>, 'has' | 'size'>): string {
  if (known.size === 0) return text;
  let masked = '';
  let at = 0;
  for (const { code, begins_at, ends_at } of codesIn(text)) {
    if (ends_at <= at || !known.has(code)) continue;
    if (begins_at >= at) masked += text.slice(at, begins_at) + MASKED_CODE;
    at = ends_at;
  }
  return masked + text.slice(at);
}
