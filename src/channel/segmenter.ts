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
