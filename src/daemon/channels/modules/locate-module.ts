import { readFile, stat } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isObject } from '../../../channel/json-object.ts';

/** Sources have priority over their build, except under `node_modules`. */
const SOURCE_INDEX = 'index.ts';
const INDEX_FILES = ['index.js', 'index.mjs'];

/** The location of a module of the operator, or why it was not found. */
export type Located = { found: true; file: string } | { found: false; problem: string; right: string };

/** The purpose of the module, in messages. */
type Whose = 'channel' | 'tool';

/**
 * A path begins with `.`, `/` or `~`, has the extension of a module, or contains a slash and does not begin with `@`.
 * Anything else is the name of a package.
 */
export function isPath(text: string): boolean {
  if (/^[./~]/.test(text) || /\.[cm]?[jt]s$/.test(text)) return true;
  return text.includes('/') && !text.startsWith('@');
}

/**
 * The module at a path, relative to a folder. In a directory, it is `index.ts` if there is one, so that nothing needs
 * to be built. Otherwise it is the module that `package.json` names, or `index.js` or `index.mjs`. Node
 * does not run the sources of an installed package, so `index.ts` is not tried under `node_modules`.
 */
export async function locatePath(path: string, folder: string, whose: Whose): Promise<Located> {
  const full = /^~(?=\/|$)/.test(path) ? join(homedir(), path.slice(1)) : resolve(folder, path);
  const entry = await packageEntry(full);
  const sources = full.split(sep).includes('node_modules') ? [] : [SOURCE_INDEX];
  const candidates = [...sources, ...(entry === null ? [] : [entry]), ...INDEX_FILES];
  for (const file of [full, ...candidates.map((name) => join(full, name))]) {
    if (await isFile(file)) return { found: true, file };
  }
  if (entry !== null) return noModule(`names the package in ${full}`, entry, whose);
  return (await isDirectory(full))
    ? noModule(`names the folder ${full}`, [SOURCE_INDEX, ...INDEX_FILES].join(', '), whose)
    : {
        found: false,
        problem: `names a file that does not exist: ${full}`,
        right: `the path of the module of a ${whose}, or of its folder`,
      };
}

function noModule(what: string, wanted: string, whose: Whose): Located {
  return {
    found: false,
    problem: `${what}, which has no module ${wanted}`,
    right: `a folder with the index.ts of a ${whose}, or a package whose \`exports\` names its module`,
  };
}

/** The module that the `package.json` in a folder names; null if there is no such file, or if it names no module. */
async function packageEntry(folder: string): Promise<string | null> {
  const manifest = join(folder, 'package.json');
  if (!(await isFile(manifest))) return null;
  try {
    return findEntry(JSON.parse(await readFile(manifest, 'utf8'))) ?? null;
  } catch {
    // A `package.json` that is not JSON names no module, but index files are still tried.
    return null;
  }
}

/** The module of an installed package. It is searched from each folder in turn, then from agentd itself. */
export async function locatePackage(
  name: string,
  folders: readonly string[],
  whose: Whose,
): Promise<Located> {
  for (const from of [
    ...folders.map((folder) => pathToFileURL(join(folder, 'package.json'))),
    import.meta.url,
  ]) {
    const manifest = packageManifest(name, from);
    if (manifest === undefined) continue;
    const entry = findEntry(JSON.parse(await readFile(manifest, 'utf8')));
    const file = join(dirname(manifest), entry ?? 'index.js');
    if (await isFile(file)) return { found: true, file };
    return {
      found: false,
      problem: `names the package ${name}, which has no module ${entry ?? 'index.js'}`,
      right: `a package whose \`exports\` names the module of a ${whose}`,
    };
  }
  return {
    found: false,
    problem: `names the package ${name}, which is not installed`,
    right: `\`npm install ${name}\` in ${folders[0] ?? 'the working directory'}, or the path of a module`,
  };
}

function packageManifest(name: string, from: string | URL): string | undefined {
  try {
    return findPackageJSON(name, from);
  } catch (error) {
    // The package is not installed there, so the next place is tried.
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/**
 * The file that `import` would load: the file that `exports` names under Node's conditions, otherwise the file that
 * `main` names.
 */
function findEntry(manifest: unknown): string | undefined {
  const { exports, main } = (isObject(manifest) ? manifest : {}) as { exports?: unknown; main?: unknown };
  const root = isObject(exports) && '.' in exports ? exports['.'] : exports;
  return entryUnder(root) ?? (typeof main === 'string' ? main : undefined);
}

function entryUnder(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (!isObject(target)) return undefined;
  // Node uses the first condition that applies, in the order in which the package lists them.
  const condition = Object.keys(target).find((key) =>
    ['node', 'import', 'module-sync', 'default'].includes(key),
  );
  return condition === undefined ? undefined : entryUnder(target[condition]);
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}

/** A file that cannot be examined cannot be loaded either. */
export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true;
}
