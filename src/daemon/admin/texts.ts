/**
 * The texts of commands: how a text from outside is made safe to print, and which tokens are masked. Every command loads
 * this module, so it imports little.
 */

export { nearest } from '../settings/nearest.ts';
export { maskTokens, Secret, StreamMask } from '../settings/secret.ts';
export {
  cutText,
  escapeControls,
  printable,
  printableLines,
  quoteValue,
  withoutControls,
  wrapText,
} from '../texts/printable.ts';
