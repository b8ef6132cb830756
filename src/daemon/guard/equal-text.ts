import { hash } from 'node:crypto';
import { foldText } from '../texts/texts.ts';

/** A hash that is the same for texts that count as equal (`foldText`). The guard stores nothing else of a text. */
export function textHash(text: string): string {
  return hash('sha256', foldText(text), 'base64url');
}
