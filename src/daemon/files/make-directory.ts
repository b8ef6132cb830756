import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
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

/** The path, or one above it, that exists and is no directory, so that the path cannot be one. Null if there is none. */
export function findObstacle(path: string): string | null {
  try {
    return statSync(path).isDirectory() ? null : path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(path);
    return (code === 'ENOENT' || code === 'ENOTDIR') && parent !== path ? findObstacle(parent) : null;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whether every user of the machine can make and replace files in a directory. */
export function isOpenToAll(directory: string): boolean {
  return ((statSync(directory, { throwIfNoEntry: false })?.mode ?? 0) & constants.S_IWOTH) !== 0;
}

/**
 * If root has made a file, gives the file the owner of its directory. Root may run commands, while the daemon, which
 * must open the file, runs as the owner of the directory. This owner can replace the file at any time, so the file must
 * not be found by its path.
 * @param fd the descriptor with which the file was made
 */
export function giveToOwner(fd: number, directory: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(directory);
  const made = fstatSync(fd);
  // In a container, root may lack the capability to change owners, but then works in its own directories.
  if (made.uid !== uid || made.gid !== gid) fchownSync(fd, uid, gid);
}

/**
 * If root has made a directory, gives it the owner of its parent directory. That owner may have replaced or moved the
 * new directory since. Therefore the directory is changed only if it is empty, and it gets the owner of the directory
 * that contains it now. If this cannot be determined (without `/proc`), or if root may not change owners, the directory
 * stays owned by root.
 */
export function giveDirectoryToOwner(path: string): void {
  if (!isRoot()) return;
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const opened = `/proc/self/fd/${fd}`;
    if (existsSync(opened) && readdirSync(opened).length === 0) giveToOwner(fd, `${opened}/..`);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== 'fchown' || (code !== 'EPERM' && code !== 'EINVAL')) throw error;
  } finally {
    closeSync(fd);
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
