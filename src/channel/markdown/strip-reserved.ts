import { HIDDEN } from './limit-nesting.ts';

/**
 * Removes characters that reorder or hide the text around them: controls, and bidirectional embeddings and overrides.
 * Bidirectional marks and isolates are kept, because right-to-left texts need them. Noncharacters are removed,
 * because `limitNesting` uses them.
 */
export function stripReserved(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/g, '')
    .replace(HIDDEN, '');
}
