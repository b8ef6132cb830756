/** Longest text of a message, in characters, once trimmed. */
export const TEXT_MAX = 16_000;

/** Is a text longer than the daemon takes, once trimmed? */
export function isTooLong(text: string): boolean {
  return isLonger(text, TEXT_MAX);
}

/** Characters are counted as people count them: an emoji beyond the BMP is one, and two units. */
export function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}
