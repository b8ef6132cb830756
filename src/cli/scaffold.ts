import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { makeDirectory, packageFolder } from '../daemon/admin/files.ts';
import { version } from '../daemon/admin/program.ts';
import { failed } from './cli-error.ts';
import { packAgentd } from './pack-agentd.ts';
import { asWriteFailure } from './write-new-files.ts';

/** Name of the channel in the template. All its spellings are replaced. */
const TEMPLATE_NAME = 'pigeonpost';
/** npm leaves `.gitignore` out of packages, so the template has it without the dot. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };
/** Folder in the new package. It holds the packed agentd that the package is tested with. */
const VENDOR = 'vendor';

/**
 * Writes the channel template under a new name into an empty or missing directory, with a package of this agentd for
 * its tests. If it fails halfway, the files are removed again.
 *
 * @param name of the channel; must be valid
 * @returns the files, relative to the directory
 * @throws CliError (1) if the directory is not empty, not a directory, or cannot be written to
 */
export async function scaffold(name: string, directory: string): Promise<string[]> {
  const template = join(packageFolder(), 'plugins/template');
  const entries = await readdir(template, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(template, join(entry.parentPath, entry.name)))
    .sort();
  await requireEmpty(directory);
  const written: string[] = [];
  try {
    makeDirectory(directory);
    for (const file of files) {
      const target = RENAMED[file] ?? file;
      const text = await readFile(join(template, file), 'utf8');
      makeDirectory(dirname(join(directory, target)));
      // Never overwrites a file that another process has written since the check.
      await writeFile(join(directory, target), renamed(text, name), { flag: 'wx' });
      written.push(target);
    }
    makeDirectory(join(directory, VENDOR));
    const packed = `${VENDOR}/${await packAgentd(join(directory, VENDOR))}`;
    written.push(packed);
    await requireAgentd(join(directory, 'package.json'), packed);
  } catch (error) {
    for (const file of written) await rm(join(directory, file), { force: true });
    await rm(join(directory, VENDOR), { recursive: true, force: true });
    throw asWriteFailure(error);
  }
  return written;
}

async function requireEmpty(directory: string): Promise<void> {
  const found = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (found?.length === 0) return;
  throw failed(
    found === null ? `${directory} is not a directory` : `the directory ${directory} is not empty`,
    'Nothing was written. Pass another directory with --directory.',
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
 * Makes the package depend on this version of agentd or a later compatible version, and makes its tests use the packed
 * agentd.
 * @param packed path of the packed agentd, relative to the manifest
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
