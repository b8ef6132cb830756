import { HIDDEN } from './tame.ts';

/**
 * Leaves out characters that reorder or hide the text around them: controls, and the bidirectional embeddings and
 * overrides, which could make a text read otherwise than it is. Marks and isolates, which right-to-left texts
 * need, are kept. Noncharacters are left out too: `tame` uses them.
 */
export function withoutTricks(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/g, '')
    .replace(HIDDEN, '');
}
