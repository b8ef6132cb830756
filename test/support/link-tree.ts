import { copyFileSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Makes further names for a file, or for the files of a tree, which is faster than to copy them. */
export function linkTree(from: string, to: string): void {
  try {
    link(from, to);
    return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EISDIR' && code !== 'EPERM' && code !== 'ENOTDIR') throw error;
  }
  mkdirSync(to, { recursive: true });
  // The compiled code that bin/agentd.js keeps in `dist` is in no package.
  for (const name of readdirSync(from).filter((name) => name !== '.compiled'))
    linkTree(join(from, name), join(to, name));
}

function link(from: string, to: string): void {
  mkdirSync(join(to, '..'), { recursive: true });
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    copyFileSync(from, to);
  }
}
