import { chownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives a new file to the owner of its directory if root has made it: commands are run by root, and the daemon, which
 * must open the file, by the user whose directory it is.
 */
export function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  const file = statSync(path);
  // Root without that capability, as in a container, works in directories of its own.
  if (file.uid !== uid || file.gid !== gid) chownSync(path, uid, gid);
}
