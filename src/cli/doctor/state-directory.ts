import { constants } from 'node:fs';
import { access, mkdtemp, rmdir, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning, failed, skipped } = findingsOf('state directory');
const MIB = 1024 * 1024;
/** Minimum free space, bytes. With less, the store soon cannot be written. */
const SPACE_MIN = 64 * MIB;
/** Enough free space for the write-ahead log after a burst and for some days of data, bytes. */
const SPACE_GOOD = 512 * MIB;
const OTHERS = 0o077;
const OWN_USER =
  'Run the doctor as the user that the daemon runs as, and check that this user owns the directory.';

/** Checks whether STATE_DIR exists, is private and writable, and whether its disk has free space. */
export async function checkStateDirectory(path: string): Promise<Finding[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    if (found.code === 'ENOENT' || found.code === 'ENOTDIR') return [await missing(path)];
    return [failed(`cannot read ${path}: ${found.code}`, OWN_USER)];
  }
  if (!found.isDirectory()) return [failed(`${path} is not a directory`, 'Set STATE_DIR to a directory.')];
  if (!(await may(path, constants.R_OK | constants.W_OK | constants.X_OK)))
    return [failed(`this user cannot read and write ${path}`, OWN_USER)];
  const free = await freeSpace(path);
  const findings: Finding[] = [];
  if ((found.mode & OTHERS) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    findings.push(
      warning(`other users of this machine can access ${path} (mode ${mode})`, `chmod 700 ${path}`),
    );
  }
  if (free < SPACE_GOOD)
    findings.push(
      (free < SPACE_MIN ? failed : warning)(
        `the disk of ${path} has ${inWords(free)} left`,
        'Free some space: on a full disk, the daemon refuses platform messages and cannot store answers.',
      ),
    );
  return findings.length > 0 ? findings : [ok(`${path} is private, its disk has ${inWords(free)} left`)];
}

/**
 * Checks whether the first start of the daemon can create the missing state directory. A test directory is created in
 * the nearest directory above that exists, because the permissions alone do not show whether the file system is
 * read-only.
 */
async function missing(path: string): Promise<Finding> {
  let above = dirname(path);
  while (!(await exists(above)) && dirname(above) !== above) above = dirname(above);
  try {
    await rmdir(await mkdtemp(join(above, '.agentd-doctor-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return failed(`${path} does not exist, and cannot be created in ${above}: ${code}`, OWN_USER);
  }
  return skipped(`${path} does not exist yet: the first start creates it`);
}

/** Free space for this user, bytes. */
async function freeSpace(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

function inWords(bytes: number): string {
  const mib = Math.floor(bytes / MIB);
  return mib < 10 * 1024 ? `${mib} MiB` : `${Math.floor(mib / 1024)} GiB`;
}

async function exists(path: string): Promise<boolean> {
  return may(path, constants.F_OK);
}

async function may(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}
