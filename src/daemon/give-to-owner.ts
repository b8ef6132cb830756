import { fchownSync, fstatSync, statSync } from 'node:fs';

/**
 * Gives a new file that root made to the owner of its directory. Root may run commands, while the daemon, which must
 * open the file, runs as the owner of the directory. This owner can replace the file at any time, so its path must not
 * be used.
 *
 * @param fd the descriptor with which the file was made
 */
export function giveToOwner(fd: number, directory: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  const made = fstatSync(fd);
  // Root without the capability to change owners, as in a container, works in its own directories.
  if (made.uid !== uid || made.gid !== gid) fchownSync(fd, uid, gid);
}
