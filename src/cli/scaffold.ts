import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { packAgentd } from './pack-agentd.ts';
import { version } from './version.ts';

/** Name of the channel in the template; it is replaced in each of its spellings. */
const TEMPLATE_NAME = 'pigeonpost';
/** npm leaves files of this name out of packages, so the template has it without its dot. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };
/** Where the new package keeps the agentd that it is tested with. */
const VENDOR = 'vendor';

/**
 * Writes the template of a channel under a new name into a directory that is empty or missing, with this agentd as
 * a package, for its tests. If it fails half-way, the files are removed again.
 *
 * @param name of the channel; it must be valid.
 * @returns the files, relative to the directory.
 * @throws CliError (1) if the directory is not empty, or not a directory.
 */
export async function scaffold(name: string, directory: string): Promise<string[]> {
  const template = templateFolder();
  const entries = await readdir(template, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(template, join(entry.parentPath, entry.name)))
    .sort();
  await requireEmpty(directory);
  await mkdir(directory, { recursive: true });
  const written: string[] = [];
  try {
    for (const file of files) {
      const target = RENAMED[file] ?? file;
      const text = await readFile(join(template, file), 'utf8');
      await mkdir(dirname(join(directory, target)), { recursive: true });
      // Never overwrites: another process may have written the file meanwhile.
      await writeFile(join(directory, target), renamed(text, name), { flag: 'wx' });
      written.push(target);
    }
    await mkdir(join(directory, VENDOR));
    const packed = `${VENDOR}/${await packAgentd(join(directory, VENDOR))}`;
    written.push(packed);
    await requireAgentd(join(directory, 'package.json'), packed);
  } catch (error) {
    for (const file of written) await rm(join(directory, file), { force: true });
    await rm(join(directory, VENDOR), { recursive: true, force: true });
    throw error;
  }
  return written;
}

/** Of the package, from the sources and from the build alike. */
function templateFolder(): string {
  for (const up of ['../../plugins/template/', '../../../plugins/template/']) {
    const url = new URL(up, import.meta.url);
    if (existsSync(url)) return fileURLToPath(url);
  }
  throw new Error('plugins/template is missing beside the program');
}

async function requireEmpty(directory: string): Promise<void> {
  const found = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (found?.length === 0) return;
  throw new CliError(
    EXIT.no,
    found === null ? `${directory} is no directory` : `the directory ${directory} is not empty`,
    'Nothing was written. Name another one with --directory.',
  );
}

function renamed(text: string, name: string): string {
  const title = name.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
  const upper = name.toUpperCase().replaceAll('-', '_');
  return text
    .replaceAll(TEMPLATE_NAME, name)
    .replaceAll(TEMPLATE_NAME.toUpperCase(), upper)
    .replaceAll(
      TEMPLATE_NAME.replace(/^./, (first) => first.toUpperCase()),
      title,
    );
}

/**
 * The package works with this agentd, or a later one that still fits, and is tested with the packed one.
 * @param packed path of the package of agentd, relative to the manifest.
 */
async function requireAgentd(manifestFile: string, packed: string): Promise<void> {
  const manifest = JSON.parse(await readFile(manifestFile, 'utf8')) as {
    peerDependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  manifest.peerDependencies.agentd = `^${version()}`;
  manifest.devDependencies.agentd = `file:${packed}`;
  await writeFile(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
}
