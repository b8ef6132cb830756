import { type FileHandle, lstat, open, rename, rm, stat, unlink } from 'node:fs/promises';
import { keyList } from './encryption-keys.ts';
import { keyFilePath, readKeyFile, syncDirectory } from './key-file.ts';

/** An interrupted change leaves its unfinished file behind. After this time, ms, the next change deletes that file. */
const BROKEN_OFF_MS = 10_000;

/** The key file was not changed. The message says why. */
export class KeyFileUnchanged extends Error {}

/**
 * Replaces the keys in the key file. After a crash, the file has either all old keys or all new keys. If two changes
 * are made at once, the second is refused. If no key is left, the file is deleted. The file keeps its owner, even if
 * root changes the keys.
 *
 * @param change returns the new list, given the current one
 * @throws KeyFileUnchanged; ConfigurationError if the file cannot be used.
 */
export async function changeKeyFile(
  stateDir: string,
  change: (keys: readonly string[]) => readonly string[],
): Promise<void> {
  const path = keyFilePath(stateDir);
  const next = `${path}.next`;
  const file = await openExclusively(next);
  try {
    const present = await lstat(path).catch(() => null);
    if (present?.isSymbolicLink())
      throw new KeyFileUnchanged(`${path} is a symbolic link: change the file that it leads to`);
    const found = await readKeyFile(stateDir);
    if (present === null || found === null) throw new KeyFileUnchanged(`there is no ${path}`);
    const keys = change(keyList(found.keys));
    await file.writeFile(`${keys.join(',')}\n`);
    const own = await file.stat();
    if (own.uid !== present.uid || own.gid !== present.gid) await file.chown(present.uid, present.gid);
    await file.sync();
    await rename(next, path);
    if (keys.length === 0) await unlink(path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await syncDirectory(stateDir);
}

async function openExclusively(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const { mtimeMs } = await stat(path);
  if (Date.now() - mtimeMs < BROKEN_OFF_MS)
    throw new KeyFileUnchanged('another command is changing the keys; try again in ten seconds');
  await unlink(path);
  return open(path, 'wx', 0o600);
}
