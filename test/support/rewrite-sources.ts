import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = resolve(import.meta.dirname, '../..');

/** A part of a source file, and its replacement. */
export interface Change {
  file: string;
  from: string;
  to: string;
}

/**
 * Changes sources while they are loaded. The files themselves do not change. Call it before any of the sources is
 * imported.
 * @throws while the sources are loaded, if the text of a change is not found exactly once
 */
export function rewriteSources(all: readonly Change[]): void {
  const changes = new Map(Map.groupBy(all, ({ file }) => pathToFileURL(resolve(ROOT, file)).href));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = changes.get(url);
      if (!own) return loaded;
      let source = String(loaded.source);
      for (const { file, from, to } of own) {
        const places = source.split(from).length - 1;
        if (places !== 1) throw new Error(`${file} contains this ${places} times, expected 1:\n${from}`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
}
