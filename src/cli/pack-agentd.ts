import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { packageFolder } from '../daemon/admin/files.ts';
import { type TarFile, tarball } from './tarball.ts';

/** Files that npm puts into every package. */
const ALWAYS = ['package.json', 'README.md', 'LICENSE'];

/**
 * Packs this agentd into a folder, with the files that `npm pack` would include. A package that depends on the packed
 * file can be checked out anywhere, because it needs neither a path on this machine nor a registry. `npm pack` itself
 * takes ten times as long, and uses the network.
 * @returns the name of the packed file
 */
export async function packAgentd(folder: string): Promise<string> {
  const root = packageFolder();
  const { version } = await manifestIn(root);
  const files = (await packedFiles(root)).map(async (name): Promise<TarFile> => {
    const isExecutable = ((await stat(join(root, name))).mode & 0o111) !== 0;
    return { name: `package/${name}`, content: await readFile(join(root, name)), isExecutable };
  });
  const filename = `agentd-${version}.tgz`;
  await writeFile(join(folder, filename), tarball(await Promise.all(files)), { flag: 'wx' });
  return filename;
}

/**
 * The files of the package in a folder, sorted: those that `files` of its manifest names, without those that an entry
 * with `!` excludes, and the files that npm always includes.
 */
export async function packedFiles(root: string): Promise<string[]> {
  const { files: wanted } = await manifestIn(root);
  const excluded = wanted.filter((path) => path.startsWith('!')).map((path) => path.slice(1));
  const found: string[] = [];
  for (const path of [...ALWAYS, ...wanted.filter((path) => !path.startsWith('!'))]) {
    const full = join(root, path);
    // As npm does. npm-shrinkwrap.json is only in an installed package.
    if (!existsSync(full)) continue;
    if ((await stat(full)).isFile()) found.push(path);
    else
      for (const entry of await readdir(full, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) found.push(relative(root, join(entry.parentPath, entry.name)));
  }
  const isIn = (file: string) => excluded.every((path) => file !== path && !file.startsWith(`${path}/`));
  return [...new Set(found)].filter(isIn).sort();
}

async function manifestIn(root: string): Promise<{ version: string; files: readonly string[] }> {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Awaited<
    ReturnType<typeof manifestIn>
  >;
}
