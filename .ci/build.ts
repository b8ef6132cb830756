/**
 * Builds `dist`: the program and its types, its data files, the scripts for browsers, and the pages for man(1). The
 * build is written to a temporary directory, which replaces `dist` when it is complete. A failed build therefore
 * changes nothing, and a daemon that runs from `dist` misses its files only for an instant.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeMdocPages } from '../man/build/mdoc-pages.ts';
import { bundleBrowserFiles } from '../plugins/webchat/build.ts';
import { bundleProgram } from './bundle.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

const work = mkdtempSync(join(ROOT, '.build-'));
try {
  const next = join(work, 'next');
  if (declareTypes(next)) {
    await bundleProgram(next);
    const isNoSource = (path: string) => !path.endsWith('.ts');
    cpSync(join(ROOT, 'src'), join(next, 'src'), { recursive: true, filter: isNoSource });
    await bundleBrowserFiles(join(next, 'plugins/webchat'));
    writeMdocPages(join(next, 'man'));
    if (existsSync(DIST)) renameSync(DIST, join(work, 'old'));
    renameSync(next, DIST);
  } else {
    process.exitCode = 1;
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Writes the type declarations. Returns false if the sources have errors. The compiler prints the errors. */
function declareTypes(directory: string): boolean {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const options = ['-p', 'tsconfig.build.json', '--outDir', directory, '--noEmitOnError', '--checkers', '1'];
  const { status, error } = spawnSync(tsc, options, { cwd: ROOT, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}
