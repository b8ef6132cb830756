import { rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectory } from '../daemon/admin/files.ts';
import { printable } from '../daemon/admin/texts.ts';
import { failed } from './cli-error.ts';

export interface NewFile {
  path: string;
  text: string;
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
    for (const { path, text, mode, directoryMode } of files) {
      made.push(...makeDirectory(dirname(path), directoryMode));
      await writeFile(path, text, { flag: 'wx', mode });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    for (const path of made.reverse()) await rmdir(path);
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw asWriteFailure(error);
    throw failed(
      `${printable((error as NodeJS.ErrnoException).path ?? '')} exists; nothing was written`,
      advice,
    );
  }
}

/** Turns an error of the file system into a failure of the command (1). Returns any other error unchanged. */
export function asWriteFailure(error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error;
  return failed(
    `cannot write the files: ${printable(error.message)}`,
    'Name a directory that this user can write to, on a volume with enough space.',
    { cause: error },
  );
}
