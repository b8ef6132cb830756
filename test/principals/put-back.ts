import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DEFECTS } from './defects.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Puts a defect back into the sources as they are loaded; the files stay as they are. Call it before any of
 * them is imported.
 * @throws if there is no such defect, or its place is not found exactly once
 */
export function putBack(name: string): void {
  const defect = DEFECTS[name];
  if (!defect) throw new Error(`there is no defect ${name}; there are: ${Object.keys(DEFECTS).join(', ')}`);
  const changes = new Map(Map.groupBy(defect.changes, ({ file }) => pathToFileURL(resolve(ROOT, file)).href));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = changes.get(url);
      if (!own) return loaded;
      let source = String(loaded.source);
      for (const { file, from, to } of own) {
        const places = source.split(from).length - 1;
        if (places !== 1) throw new Error(`${file} has ${places} places like this, expected 1:\n${from}`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
}
