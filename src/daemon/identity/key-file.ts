import { randomBytes } from 'node:crypto';
import { link, open, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { giveToOwner } from '../files/give-to-owner.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { Secret } from '../settings/secret.ts';
import { problemOfKeys } from './encryption-keys.ts';

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
    const file = await open(path, 'r');
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
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw unusable(path, `cannot be read (${code})`, error);
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

/** What to do if the key file is lost or broken. */
export function newKeyAdvice(path: string): string {
  return `the key from a backup of STATE_DIR; if it is lost, a new key, which cannot unseal the tokens that are stored now: openssl rand -base64 32 > ${path}`;
}

/** The keys in the content of a key file, unchecked. */
export function keysOfContent(content: string): Secret {
  return new Secret(content.replace(/\r?\n$/, ''));
}

function unusable(path: string, problem: string, cause?: unknown): ConfigurationError {
  const told: SettingProblem = {
    setting: path,
    value: null,
    source: null,
    problem,
    right: newKeyAdvice(path),
  };
  return new ConfigurationError([told], { cause });
}

/** Makes renames and links in a directory durable, so that they survive a crash of the machine. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
