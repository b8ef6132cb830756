import { chownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives a new file that root made to the owner of its directory. Root may run commands, while the daemon, which must
 * open the file, runs as the owner of the directory.
 */
export function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  const file = statSync(path);
  // Root without the capability to change owners, as in a container, works in its own directories.
  if (file.uid !== uid || file.gid !== gid) chownSync(path, uid, gid);
}
