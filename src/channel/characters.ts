const made = new Map<string, Intl.Segmenter>();

/**
 * The segmenter of visible characters or of words. It is made on first use, because the first one takes more than 10 ms
 * of the startup of a process.
 */
export function segmenter(granularity: 'grapheme' | 'word'): Intl.Segmenter {
  const known = made.get(granularity) ?? new Intl.Segmenter('und', { granularity });
  made.set(granularity, known);
  return known;
}

/** Matches characters with two columns in a monospaced font. */
const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;

/** Width in columns of a monospaced font. */
export function measureWidth(text: string): number {
  if (!/[^ -~]/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter('grapheme').segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** Longest trimmed text of a message, characters. */
export const TEXT_MAX = 16_000;

/** Whether a trimmed text is longer than the daemon accepts. */
export function isTooLong(text: string): boolean {
  return isLonger(text, TEXT_MAX);
}

/** Counts code points, so that a simple emoji is one character, although it has two UTF-16 units. */
export function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}
