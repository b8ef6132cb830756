import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { closeAtEnd } from './close-at-end.ts';

/**
 * A new folder, which is removed at the end of the test or, if no test has begun, of the file.
 * @param name a part of its name
 * @param files the contents of files in it, by their paths
 */
export function temporaryFolder(name: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), `agentd-${name}-`));
  closeAtEnd(() => rmSync(folder, { recursive: true, force: true }));
  writeFiles(folder, files);
  return folder;
}

/** Writes these files, which only their owner can read: the daemon requires this of files with secrets. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content, { mode: 0o600 });
  }
}
