import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';

/** The files of cases at these paths: each file itself, and the YAML files of each directory, in order. */
export async function caseFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await statFile(path);
    if (!found.isDirectory()) {
      files.push(path);
      continue;
    }
    const names = await readdir(path, { recursive: true });
    files.push(
      ...names
        .filter((name) => /\.ya?ml$/.test(name))
        .sort()
        .map((name) => join(path, name)),
    );
  }
  return [...new Set(files)];
}

async function statFile(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (cause) {
    throw usageError(
      `there is no file or directory ${printable(path)}`,
      'Pass files of cases, or directories.',
      {
        cause,
      },
    );
  }
}
