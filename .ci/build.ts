/**
 * Builds `dist`: the program and its types, the files beside it, what browsers load, and the pages for man(1). The
 * build is made in a directory of its own and then takes the place of the old one, so that a daemon that runs from
 * `dist` finds its files all the time, and a build that fails changes nothing.
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

/** Writes the declarations. False if the sources have errors; the compiler has printed them. */
function declareTypes(directory: string): boolean {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const options = ['-p', 'tsconfig.build.json', '--outDir', directory, '--noEmitOnError'];
  const { status, error } = spawnSync(tsc, options, { cwd: ROOT, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}
