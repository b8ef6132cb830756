import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Files below a folder of the repository, as paths from its root with `/`. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

export function sourcesBelow(folder: string): string[] {
  return filesBelow(folder).filter((file) => file.endsWith('.ts'));
}

export function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

export interface Import {
  /** The specifier, as written. */
  specifier: string;
  /** The path from the root of the repository if the specifier is relative; null for packages. */
  file: string | null;
  /** Whether the import is erased when types are stripped. */
  typeOnly: boolean;
  /** Whether it is `import('…')`, which loads the module only when it runs. */
  dynamic: boolean;
}

const STATIC = /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)(\.[A-Z])?/g;

/** The imports of a source file, according to its text. */
export function importsOf(file: string): Import[] {
  const text = read(file);
  const place = (specifier: string) =>
    specifier.startsWith('.')
      ? relative(ROOT, resolve(ROOT, dirname(file), specifier)).replaceAll('\\', '/')
      : null;
  const found: Import[] = [];
  for (const [, type, specifier = ''] of text.matchAll(STATIC)) {
    found.push({ specifier, file: place(specifier), typeOnly: type !== undefined, dynamic: false });
  }
  for (const [, specifier = '', member] of text.matchAll(DYNAMIC)) {
    // `import('./x.ts').Name` is a type import.
    found.push({ specifier, file: place(specifier), typeOnly: member !== undefined, dynamic: true });
  }
  return found;
}
