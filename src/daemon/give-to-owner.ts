import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';

/**
 * Gives a new file that root made to the owner of its directory. Root may run commands, while the daemon, which must
 * open the file, runs as the owner of the directory. This owner can replace the file at any time, so its path must not
 * be used.
 *
 * @param fd the descriptor with which the file was made
 */
export function giveToOwner(fd: number, directory: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(directory);
  const made = fstatSync(fd);
  // Root without the capability to change owners, as in a container, works in its own directories.
  if (made.uid !== uid || made.gid !== gid) fchownSync(fd, uid, gid);
}

/**
 * Gives a new directory that root made to the owner of the directory above, unless that owner has replaced it since.
 * The one at the path counts as the new one if it is empty; it goes to the owner of the directory in which it is now.
 * Where this cannot be determined (without `/proc`), or if root may not change owners, it stays a directory of root.
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
