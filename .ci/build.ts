/**
 * Builds `dist`: the program and its types, its data files, the scripts for browsers and shells, and the pages for
 * man(1). The build is written to a temporary directory, which replaces `dist` when it is complete. A failed build
 * therefore changes nothing, and a daemon that runs from `dist` misses its files only for an instant. If no input has
 * changed since the last build, there is nothing to do; delete `dist` to build anyway.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeMdocPages } from '../man/build/mdoc-pages.ts';
import { bundleBrowserFiles } from '../plugins/webchat/build.ts';
import { bundleProgram } from './bundle.ts';
import { readCommit } from './commit.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
/** Everything that the build depends on, apart from the version of Node.js. */
const INPUTS = ['{src,plugins,man,.ci}/**', 'tsconfig*.json', 'package*.json'];
/** Contains the commit of the build; empty if it is unknown. src/daemon/files/version.ts reads it. */
const COMMIT = 'src/daemon/files/commit.txt';
/** Contains the digest of the inputs of the last build. */
const STAMP = '.inputs';

const inputs = hashFiles(globSync(INPUTS, { cwd: ROOT }));
if (!existsSync(join(DIST, STAMP)) || readFileSync(join(DIST, STAMP), 'utf8') !== inputs) await build();
// A commit may change nothing that the build depends on.
if (process.exitCode === undefined) writeFileSync(join(DIST, COMMIT), readCommit(ROOT) ?? '');

async function build(): Promise<void> {
  const work = mkdtempSync(join(ROOT, '.build-'));
  try {
    const next = join(work, 'next');
    if (declareTypes(next)) {
      await bundleProgram(next);
      const isNoSource = (path: string) => !path.endsWith('.ts');
      cpSync(join(ROOT, 'src'), join(next, 'src'), { recursive: true, filter: isNoSource });
      await bundleBrowserFiles(join(next, 'plugins/webchat'));
      await writeCompletions(join(next, 'src/cli/completion'));
      writeMdocPages(join(next, 'man'));
      writeFileSync(join(next, STAMP), inputs);
      if (existsSync(DIST)) renameSync(DIST, join(work, 'old'));
      renameSync(next, DIST);
    } else {
      process.exitCode = 1;
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Writes the completion script of each shell. The modules are imported only here, because they import all commands. */
async function writeCompletions(directory: string): Promise<void> {
  const { SCRIPTS } = await import('../src/cli/completion/scripts.ts');
  const { readVocabulary } = await import('../src/cli/completion/vocabulary.ts');
  const vocabulary = await readVocabulary();
  for (const [shell, makeScript] of Object.entries(SCRIPTS))
    writeFileSync(join(directory, `agentd.${shell}`), makeScript(vocabulary));
}

function hashFiles(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths.toSorted()) {
    const file = join(ROOT, path);
    if (statSync(file).isFile()) hash.update(`${path}\0`).update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

/** Writes the type declarations. Returns false if the sources have errors. The compiler prints the errors. */
function declareTypes(directory: string): boolean {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  return ['tsconfig.build.json', 'plugins/webchat/widget/tsconfig.build.json'].every((project) => {
    const options = ['-p', project, '--outDir', directory, '--noEmitOnError', '--checkers', '1'];
    const { status, error } = spawnSync(tsc, options, { cwd: ROOT, stdio: 'inherit' });
    if (error) throw error;
    return status === 0;
  });
}
