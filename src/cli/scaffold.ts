import { existsSync } from 'node:fs';
import { readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeDirectory, packageFolder, version } from '../daemon/admin/program.ts';
import { printable } from '../daemon/admin/texts.ts';
import { type CliError, failed } from './cli-error.ts';

/** Name of the channel in the template. All its spellings are replaced. */
const TEMPLATE_NAME = 'pigeonpost';
/** npm leaves these files out of packages, so the template has them without the dot. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore', npmrc: '.npmrc' };

/**
 * Writes the channel template under a new name into an empty or missing directory, with a package of this agentd for
 * its tests.
 *
 * @param name of the channel; must be valid
 * @returns the files, relative to the directory
 * @throws CliError (1) if the directory is not empty, not a directory, or cannot be written to
 */
export async function scaffold(name: string, directory: string): Promise<string[]> {
  const template = join(packageFolder(), 'plugins/template');
  await requireEmpty(directory);
  const agentd = { path: `vendor/agentd-${version()}.tgz`, content: await packAgentd() };
  const files: NewFile[] = [];
  for (const file of (await filesIn(template)).sort()) {
    const text = renameTemplate(await readFile(join(template, file), 'utf8'), name);
    const content = file === 'package.json' ? requireAgentd(text, agentd.path) : text;
    files.push({ path: RENAMED[file] ?? file, content });
  }
  files.push(agentd);
  await writeNewFiles(
    files.map(({ path, content }) => ({ path: join(directory, path), content })),
    'Pass another directory with --directory.',
  );
  return files.map(({ path }) => path);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
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

function renameTemplate(text: string, name: string): string {
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
 * The manifest, changed so that the package depends on this version of agentd or a later compatible version, and its
 * tests use the packed agentd.
 * @param packed path of the packed agentd, relative to the manifest
 */
function requireAgentd(text: string, packed: string): string {
  const manifest = JSON.parse(text) as Record<'peerDependencies' | 'devDependencies', Record<string, string>>;
  manifest.peerDependencies.agentd = `^${version()}`;
  manifest.devDependencies.agentd = `file:${packed}`;
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Files that npm puts into every package. */
const ALWAYS = ['package.json', 'README.md', 'LICENSE'];

/**
 * This agentd as a package, with the files that `npm pack` would include. A package that depends on the packed file can
 * be checked out anywhere, because it needs neither a path on this machine nor a registry. `npm pack` itself takes ten
 * times as long, and uses the network.
 */
export async function packAgentd(): Promise<Uint8Array> {
  const root = packageFolder();
  // The scripts work only in a checkout, and npm would ask the person to approve `prepare`.
  const manifest = { ...(await manifestIn(root)), scripts: undefined };
  const own = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  const files = (await packedFiles(root)).map(async (name): Promise<TarFile> => {
    const isExecutable = ((await stat(join(root, name))).mode & 0o111) !== 0;
    const content = name === 'package.json' ? own : await readFile(join(root, name));
    return { name: `package/${name}`, content, isExecutable };
  });
  return tarball(await Promise.all(files));
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
    else found.push(...(await filesIn(full)).map((file) => join(path, file)));
  }
  const isIn = (file: string) => excluded.every((path) => file !== path && !file.startsWith(`${path}/`));
  return [...new Set(found)].filter(isIn).sort();
}

async function manifestIn(root: string): Promise<{ files: readonly string[] }> {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Awaited<
    ReturnType<typeof manifestIn>
  >;
}

const BLOCK = 512;
/** Longest name that fits into a plain header, bytes. */
const NAME_MAX = 100;

interface TarFile {
  /** Folders are separated by `/`. */
  name: string;
  content: Uint8Array;
  isExecutable: boolean;
}

/** A gzipped archive of files in the POSIX format (ustar). Equal files give equal bytes. */
export function tarball(files: readonly TarFile[]): Uint8Array {
  const blocks = files.flatMap((file) => [buildHeader(file), file.content, padding(file.content.length)]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}

function buildHeader({ name, content, isExecutable }: TarFile): Uint8Array {
  if (Buffer.byteLength(name) > NAME_MAX) throw new Error(`the name ${name} is too long for the archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(isExecutable ? 0o755 : 0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  // The time of the file is left out, so that the bytes depend only on the content.
  header.write(octal(0, 12), 136);
  header.write('        0', 148);
  header.write('ustar\0', 257);
  header.write('00', 263);
  // The checksum is computed as if its own field contained spaces.
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function padding(length: number): Uint8Array {
  return Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
}

export interface NewFile {
  path: string;
  content: string | Uint8Array;
  /** Mode of the file. Default: 0666, less the umask. */
  mode?: number;
  /** Mode of its directory, if that is created. */
  directoryMode?: number;
}

/**
 * Writes all files or none, and creates missing directories. A file that exists is not overwritten, even if it appeared
 * a moment ago.
 *
 * @param advice what to do if a file exists
 * @throws CliError (1) if a file exists or cannot be written
 */
export async function writeNewFiles(files: readonly NewFile[], advice: string): Promise<void> {
  const written: string[] = [];
  const made: string[] = [];
  try {
    for (const { path, content, mode, directoryMode } of files) {
      made.push(...makeDirectory(dirname(path), directoryMode));
      await writeFile(path, content, { flag: 'wx', mode });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    for (const path of made.reverse()) await rmdir(path);
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw asWriteFailure(error);
    throw fileExists((error as NodeJS.ErrnoException).path ?? '', advice);
  }
}

/** The failure of a command (1) that overwrites no file. */
export function fileExists(path: string, advice: string): CliError {
  return failed(`${printable(path)} exists; nothing was written`, advice);
}

/** Turns an error of the file system into a failure of the command (1). Returns any other error unchanged. */
function asWriteFailure(error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error;
  return failed(
    `cannot write the files: ${printable(error.message)}`,
    'Name a directory that this user can write to, on a volume with enough space.',
    { cause: error },
  );
}
