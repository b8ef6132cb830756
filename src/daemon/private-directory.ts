import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory that only its owner enters (0700), and those above it if they are missing. One that is
 * there stays as it is. Throws the system's error if it cannot be made.
 *
 * Not Node's own `recursive`: that never returns where a directory exists in which nothing can be made
 * (`/proc`), since it takes each ENOENT for a missing parent.
 */
export function makePrivateDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isDirectory(path)) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path || isDirectory(parent)) throw error;
    makePrivateDirectory(parent);
    makePrivateDirectory(path);
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
