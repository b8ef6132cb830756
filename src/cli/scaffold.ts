import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { version } from './version.ts';

/** What the channel of the template is called, in each of its writings. */
const TEMPLATE_NAME = 'pigeonpost';
/** Packages leave out files of this name, so it stands there without its dot. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

/**
 * Writes the template of a channel, under a name of its own, into a directory that is empty or not there yet.
 * What was written goes again where it fails half-way.
 *
 * @param name of the channel; it must be one.
 * @returns the files, as seen from the directory.
 * @throws CliError (1) where the directory holds anything, or is none.
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
      // Never over anything: somebody else may have put it there meanwhile.
      await writeFile(join(directory, target), contentOf(file, renamed(text, name)), { flag: 'wx' });
      written.push(target);
    }
  } catch (error) {
    for (const file of written) await rm(join(directory, file), { force: true });
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

/** The package asks for the agentd that it was begun with, or a later one that still fits. */
function contentOf(file: string, text: string): string {
  if (file !== 'package.json') return text;
  const manifest = JSON.parse(text) as { peerDependencies: Record<string, string> };
  manifest.peerDependencies.agentd = `^${version()}`;
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
