import { readFileSync } from 'node:fs';

/**
 * Counts the commits in the write-ahead log. Only the last frame of a commit contains the size of the database (SQLite
 * file format, 4.1).
 */
export function commitsIn(path: string): number {
  const log = readFileSync(`${path}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++;
  return commits;
}
