import { randomBytes } from 'node:crypto';
import { constants, readFileSync, statSync } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { giveToOwner } from '../files/make-directory.ts';
import type { Log } from '../process/log.ts';
import { ConfigurationError, misconfigured } from '../settings/problem.ts';
import { Secret } from '../settings/secret.ts';
import type { KeySource } from './seal.ts';

/** The file in STATE_DIR with the key that seals stored tokens unless TOKEN_ENCRYPTION_KEY is set. */
export interface KeyFile {
  path: string;
  keys: Secret;
  /** The warning to show if users other than the owner can read or replace the file; null if they cannot. */
  loose: string | null;
}

/** Maximum size of a key file, bytes. */
const MAX_BYTES = 4096;
const OTHERS = 0o077;

export function keyFilePath(stateDir: string): string {
  return join(stateDir, 'encryption-key');
}

/**
 * Reads the key file; null if there is none.
 * @throws ConfigurationError if it cannot be read or has no key. (A new key could not open the stored tokens.)
 */
export async function readKeyFile(stateDir: string): Promise<KeyFile | null> {
  const path = keyFilePath(stateDir);
  let content: string;
  let mode: number;
  try {
    // A named pipe would otherwise be waited for until somebody writes into it.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw unusable(path, 'is not a regular file');
      if (found.size > MAX_BYTES) throw unusable(path, 'is too long for a key');
      mode = found.mode;
      content = await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      // Its volume is not mounted yet, for example. Without this key, or with a new one, nothing could be opened later.
      if (await isSymbolicLink(path))
        throw misconfigured(
          path,
          'is a symbolic link to a file that is missing',
          `a link to a file that exists: check that its volume is mounted; ${KEEP_IT}`,
          error,
        );
      return null;
    }
    const right = `a file that the user of the daemon can read; ${KEEP_IT}`;
    throw misconfigured(path, `cannot be read (${code})`, right, error);
  }
  const keys = keysOfContent(content);
  const problem = problemOfKeys(keys);
  if (problem !== null) throw unusable(path, problem);
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  const loose =
    (mode & OTHERS) === 0
      ? null
      : `${path} contains the key of the stored tokens, and other users of this machine may read or change it (mode ${shown}); run: chmod 600 ${path}`;
  return { path, keys, loose };
}

/**
 * Creates the key file (0600) with a new key, unless there is one. After a crash, the file is either complete or
 * missing. If two daemons start at once, both use the file of the first.
 */
export async function makeKeyFile(stateDir: string): Promise<void> {
  const path = keyFilePath(stateDir);
  const unfinished = `${path}.${randomBytes(8).toString('hex')}`;
  const file = await open(unfinished, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(32).toString('base64')}\n`);
    await file.sync();
    giveToOwner(file.fd, stateDir);
    // A hard link, since renaming would replace the file of another daemon that starts.
    await link(unfinished, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await file.close();
    await unlink(unfinished);
  }
  await syncDirectory(dirname(path));
}

async function isSymbolicLink(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isSymbolicLink() ?? false;
}

/** Advice on a key that exists, but cannot be read now. */
const KEEP_IT = 'do not replace it, because no other key unseals the stored tokens';

/** What to do if the key file is lost or broken. */
export function newKeyAdvice(path: string): string {
  return `the key from a backup of STATE_DIR; if it is lost, a new key, which cannot unseal the tokens that are stored now: openssl rand -base64 32 > ${path}`;
}

/** The keys in the content of a key file, unchecked. */
function keysOfContent(content: string): Secret {
  return new Secret(content.replace(/\r?\n$/, ''));
}

function unusable(path: string, problem: string, cause?: unknown): ConfigurationError {
  return misconfigured(path, problem, newKeyAdvice(path), cause);
}

/** Makes renames and links in a directory durable, so that they survive a crash of the machine. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** 32 bytes: 43 characters of base64 and their padding. */
const KEY_OF_32_BYTES = /^[A-Za-z0-9+/_-]{43}=?$/;

/** TOKEN_ENCRYPTION_KEY=off: tokens are stored as they are. */
export function isSealingOff(keys: Secret | undefined): boolean {
  return keys?.reveal().trim().toLowerCase() === 'off';
}

/** The keys of a list in base64. The first key seals, and each of them can unseal. */
export function keysIn(keys: Secret): Buffer[] {
  return keyList(keys).map((key) => Buffer.from(key, 'base64'));
}

/** The keys of a list as they are written. */
export function keyList(keys: Secret): string[] {
  return keys
    .reveal()
    .split(',')
    .map((key) => key.trim());
}

/** What is wrong with a list of keys, as the end of a sentence; null for a list that can be used. */
export function problemOfKeys(keys: Secret): string | null {
  const list = keyList(keys);
  const wrong = list.findIndex((key) => !KEY_OF_32_BYTES.test(key));
  if (wrong === -1) return null;
  return list.length === 1
    ? 'is not 32 bytes in base64'
    : `has a key (number ${wrong + 1}) that is not 32 bytes in base64`;
}

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
    if (!(await isAt(next, file))) throw new KeyFileUnchanged(BUSY);
    if (keys.length === 0) {
      await unlink(path);
      await unlink(next);
    } else await rename(next, path);
  } catch (error) {
    if (await isAt(next, file)) await rm(next, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await syncDirectory(stateDir);
}

const BUSY = 'another command is changing the keys; try again in ten seconds';

/** Whether the path still leads to this file: another command takes over what it believes to be interrupted. */
async function isAt(path: string, file: FileHandle): Promise<boolean> {
  const own = await file.stat();
  const found = await lstat(path).catch(() => null);
  return found?.ino === own.ino && found.mtimeMs === own.mtimeMs;
}

/** @throws KeyFileUnchanged while another command has the file, or was faster to take over an unfinished one */
async function openExclusively(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  try {
    await removeUnfinished(path);
    return await open(path, 'wx', 0o600);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw code === 'ENOENT' || code === 'EEXIST' ? new KeyFileUnchanged(BUSY, { cause }) : cause;
  }
}

/** Renames the file before it is removed, since only one of several commands can do so. */
async function removeUnfinished(path: string): Promise<void> {
  const { mtimeMs } = await lstat(path);
  // A time in the future is not trusted: the clock was set back.
  if (Math.abs(Date.now() - mtimeMs) < BROKEN_OFF_MS) throw new KeyFileUnchanged(BUSY);
  const unfinished = `${path}.${randomBytes(8).toString('hex')}`;
  await rename(path, unfinished);
  const removed = await lstat(unfinished);
  await unlink(unfinished);
  if (removed.mtimeMs !== mtimeMs) throw new KeyFileUnchanged(BUSY);
}

/**
 * The current keys of the file, for a daemon that runs while an administrator changes the file. Each read checks the
 * modification time of the file. If the file can no longer be used, the keys stay as they are, and a warning is logged.
 */
export class WatchedKeyFile implements KeySource {
  readonly #path: string;
  readonly #log: Pick<Log, 'warn'>;
  #keys: Secret;
  #seen = '';

  constructor({ path, keys }: Pick<KeyFile, 'path' | 'keys'>, log: Pick<Log, 'warn'>) {
    this.#path = path;
    this.#keys = keys;
    this.#log = log;
  }

  current(): Secret {
    const seen = this.#look();
    if (seen === this.#seen) return this.#keys;
    this.#seen = seen;
    try {
      if (!statSync(this.#path).isFile()) throw new Error('it is not a regular file');
      const keys = keysOfContent(readFileSync(this.#path, 'utf8'));
      const problem = problemOfKeys(keys);
      if (problem !== null) throw new Error(`the file ${problem}`);
      if (keys.reveal() !== this.#keys.reveal()) this.#keys = keys;
    } catch (error) {
      this.#log.warn(
        { err: error, path: this.#path },
        'the file with the key of stored tokens can no longer be used; its last keys stay in use until it is repaired or the daemon stops',
      );
    }
    return this.#keys;
  }

  /** A text that changes whenever the file changes. */
  #look(): string {
    const found = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? 'none' : `${found.ino} ${found.mtimeNs} ${found.size}`;
  }
}
