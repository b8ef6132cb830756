import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A file to which the log was moved. */
export interface RotatedFile {
  path: string;
  isCompressed: boolean;
}

/** The suffixes that logrotate adds: `agentd.log.1`, `agentd.log-20261123`, `agentd.log.2.gz`. */
const SUFFIX = /^[.-]\d[\d.-]*?(\.(?:gz|xz|bz2|zst))?$/;

/** The rotated files of a log that may have lines from after a time, oldest first. @param since ms since the epoch */
export async function rotatedFiles(path: string, since: number): Promise<RotatedFile[]> {
  const [folder, name] = [dirname(path), basename(path)];
  const names = await readdir(folder).catch(() => []);
  const found = names.flatMap((one) => {
    const suffix = one.startsWith(name) ? SUFFIX.exec(one.slice(name.length)) : null;
    return suffix === null ? [] : { path: join(folder, one), isCompressed: suffix[1] !== undefined };
  });
  const dated = await Promise.all(
    found.map(async (file) => ({ file, at: (await stat(file.path).catch(() => null))?.mtimeMs ?? 0 })),
  );
  return dated
    .filter(({ at }) => at >= since)
    .sort((a, b) => a.at - b.at)
    .map(({ file }) => file);
}
