import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { printable } from '../../daemon/printable.ts';
import { failed } from '../cli-error.ts';

export interface NewFile {
  path: string;
  text: string;
  mode: number;
  /** Mode of its directory, if that is made. */
  directoryMode?: number;
}

/** Writes all files or none. A file that exists is not overwritten, even if it appeared a moment ago. */
export async function writeAll(files: readonly NewFile[]): Promise<void> {
  const written: string[] = [];
  const made: string[] = [];
  try {
    for (const { path, text, mode, directoryMode } of files) {
      const options = { recursive: true, ...(directoryMode === undefined ? {} : { mode: directoryMode }) };
      const first = await mkdir(dirname(path), options);
      if (first !== undefined) made.push(dirname(path));
      await writeFile(path, text, { flag: 'wx', mode });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    for (const path of made.reverse()) await rmdir(path);
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw failed(
      `${printable((error as NodeJS.ErrnoException).path ?? '')} exists; nothing was written`,
      'Name another directory with --directory.',
    );
  }
}
