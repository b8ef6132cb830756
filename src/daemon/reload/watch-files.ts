import { stat } from 'node:fs/promises';
import { type AlarmClock, every } from '../time/clock.ts';

/**
 * How often to look, ms. Files are looked at, and not watched by the system: editors and container platforms replace
 * files and folders, which ends such a watch.
 */
const LOOK_MS = 1000;

interface WatchParts {
  /** The files to look at now; null while nothing is watched. */
  files: () => readonly string[] | null;
  /** Called when a file has changed, and no file has changed for LOOK_MS since: several may be written one by one. */
  changed: () => Promise<unknown>;
  clock: AlarmClock;
}

/**
 * Calls `changed` once when the watch begins, too: a file may have changed after it was read.
 * @returns a function that ends the watch
 */
export function watchFiles({ files, changed, clock }: WatchParts): () => Promise<void> {
  /** What the files looked like before the configuration was read; null if that is not known. */
  let known: string | null = null;
  let last: string | null = null;
  const look = async () => {
    const paths = files();
    const seen = paths && (await fingerprint(paths));
    if (seen === null) known = null;
    else if (seen !== known && seen === last) {
      known = seen;
      await changed();
    }
    last = seen;
  };
  return every(clock, LOOK_MS, look);
}

/** The times, sizes and identities of files, as one text. */
async function fingerprint(paths: readonly string[]): Promise<string> {
  const seen = paths.map(async (path) => {
    // Nanoseconds, because a file may be written twice within a millisecond.
    const found = await stat(path, { bigint: true }).catch(() => null);
    return found === null
      ? `${path} absent`
      : `${path} ${found.mtimeNs} ${found.size} ${found.dev}:${found.ino}`;
  });
  return (await Promise.all(seen)).join('\n');
}
