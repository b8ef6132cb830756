import { constants } from 'node:fs';
import { access, mkdtemp, rmdir, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Finding } from './finding.ts';

const CHECK = 'state directory';
const MIB = 1024 * 1024;
/** With less the store soon cannot be written, bytes. */
const ROOM_MIN = 64 * MIB;
/** Room for the write-ahead log after a burst, and some days, bytes. */
const ROOM_GOOD = 512 * MIB;
const OTHERS = 0o077;

/** Is STATE_DIR there, private, writable, and is there room on its disk? */
export async function checkStateDirectory(path: string): Promise<Finding[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    if (found.code === 'ENOENT' || found.code === 'ENOTDIR') return [await notThere(path)];
    return [failed(`${path} cannot be looked at: ${found.code}`, OWN_USER)];
  }
  if (!found.isDirectory()) return [failed(`${path} is no directory`, 'Set STATE_DIR to a directory.')];
  if (!(await may(path, constants.R_OK | constants.W_OK | constants.X_OK)))
    return [failed(`${path} cannot be read and written by this user`, OWN_USER)];
  const room = await roomAt(path);
  const findings: Finding[] = [];
  if ((found.mode & OTHERS) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    findings.push({
      check: CHECK,
      outcome: 'warning',
      detail: `others on this machine may enter ${path} (mode ${mode})`,
      advice: `chmod 700 ${path}`,
    });
  }
  if (room < ROOM_GOOD) {
    findings.push({
      check: CHECK,
      outcome: room < ROOM_MIN ? 'failed' : 'warning',
      detail: `the disk of ${path} has ${inWords(room)} left`,
      advice: 'Make room: without it, messages of platforms are refused and answers cannot be kept.',
    });
  }
  if (findings.length > 0) return findings;
  return [{ check: CHECK, outcome: 'ok', detail: `${path} is private, its disk has ${inWords(room)} left` }];
}

const OWN_USER = 'Run the doctor as the user that the daemon runs as, and see that the directory is theirs.';

/**
 * The first start of the daemon makes it. Whether that will work is tried with a directory beside it, since
 * rights alone do not tell: a file system may be read-only, or take no directories.
 */
async function notThere(path: string): Promise<Finding> {
  let above = dirname(path);
  while (!(await exists(above)) && dirname(above) !== above) above = dirname(above);
  try {
    await rmdir(await mkdtemp(join(above, '.agentd-doctor-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return failed(`${path} is not there, and cannot be made in ${above}: ${code}`, OWN_USER);
  }
  return { check: CHECK, outcome: 'skipped', detail: `${path} is not there yet: the first start makes it` };
}

/** What this user may take of it, bytes. */
async function roomAt(path: string): Promise<number> {
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
    // Whatever it is that keeps us out.
    return false;
  }
}

function failed(detail: string, advice: string): Finding {
  return { check: CHECK, outcome: 'failed', detail, advice };
}
