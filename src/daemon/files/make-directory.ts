import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes a directory that only its owner can enter (0700), as `makeDirectory` does. */
export function makePrivateDirectory(path: string, onMade?: (path: string) => void): void {
  makeDirectory(path, 0o700, onMade);
}

/**
 * Makes a directory, and missing directories above it. A directory that exists is not changed. Throws the system's
 * error if it cannot be made.
 *
 * Node's own `recursive` is not used: it never returns for a path in a directory in which nothing can be made
 * (`/proc`), because it treats each ENOENT as a missing parent.
 *
 * @param mode of each directory that is made; the umask applies
 * @param onMade is called for each directory that was made, before anything is made in it
 * @returns the directories that were made, the uppermost first
 */
export function makeDirectory(path: string, mode = 0o777, onMade?: (path: string) => void): string[] {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isDirectory(path)) return [];
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path || isDirectory(parent)) throw error;
    return [...makeDirectory(parent, mode, onMade), ...makeDirectory(path, mode, onMade)];
  }
  onMade?.(path);
  return [path];
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
