import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the bundled channels, in the sources or in the build. */
const BUNDLED = new URL('../../../plugins/', import.meta.url);
const ENDING = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const TEMPLATE = 'template';

/** The folders of `plugins/` that are channels: name → module. */
export async function bundledPlugins(): Promise<Map<string, string>> {
  const folder = fileURLToPath(BUNDLED);
  const found = new Map<string, string>();
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = join(folder, entry.name, `index${ENDING}`);
    if (entry.isDirectory() && entry.name !== TEMPLATE && (await isFile(file))) found.set(entry.name, file);
  }
  return found;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
