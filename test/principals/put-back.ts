import { rewriteSources } from '../support/rewrite-sources.ts';
import { DEFECTS } from './defects.ts';

/**
 * Puts a defect back into the sources while they are loaded. Call it before any of them is imported.
 * @throws if there is no such defect, or if its text is not found exactly once
 */
export function putBack(name: string): void {
  const defect = DEFECTS[name];
  if (!defect) throw new Error(`there is no defect ${name}; there are: ${Object.keys(DEFECTS).join(', ')}`);
  rewriteSources(defect.changes);
}
