import { hash } from 'node:crypto';
import { foldText } from '../fold-text.ts';

/** A hash that equal texts share (`foldText`). The guard stores nothing else of a text. */
export function textHash(text: string): string {
  return hash('sha256', foldText(text), 'base64url');
}
