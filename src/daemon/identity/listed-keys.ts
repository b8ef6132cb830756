import { UnusableKey } from './unusable-key.ts';

/** Maximum number of keys in one setting. A wrong token is checked against each of them. */
const KEYS_MAX = 8;
/** A block may also be on one line, with `\n` for its line breaks. */
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----/gs;

/**
 * The keys in a setting that may hold several, in their order: one per line, except that a PEM block is one key. Blank
 * lines are ignored; white space within a line belongs to the key.
 */
export function listedKeys(value: string): readonly string[] {
  const keys: string[] = [];
  let at = 0;
  for (const block of value.matchAll(PEM_BLOCK)) {
    keys.push(...linesOf(value.slice(at, block.index)), block[0]);
    at = block.index + block[0].length;
  }
  keys.push(...linesOf(value.slice(at)));
  return keys;
}

/** @throws UnusableKey if there are too many keys */
export function expectFewKeys(setting: string, { length }: readonly unknown[]): void {
  if (length <= KEYS_MAX) return;
  const right = `at most ${KEYS_MAX}, one per line; remove the keys that no valid token is signed with`;
  throw new UnusableKey(setting, `has ${length} keys`, right);
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.replaceAll('\\n', '').trim() !== '');
}
