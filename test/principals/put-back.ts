import { rewriteSources } from '../support/rewrite-sources.ts';
import { DEFECTS } from './defects.ts';

/**
 * Inserts a defect into the sources while they are loaded. Call this before any source is imported.
 * @throws if the defect does not exist, or if a text that it replaces is not found exactly once
 */
export function putBack(name: string): void {
  const defect = DEFECTS[name];
  if (!defect) throw new Error(`unknown defect ${name}; known defects: ${Object.keys(DEFECTS).join(', ')}`);
  rewriteSources(defect.changes);
}
