import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { SCRIPTS } from '../../src/cli/completion/scripts.ts';
import { readVocabulary } from '../../src/cli/completion/vocabulary.ts';
import { startAgentd } from '../support/daemon.ts';
import { isThorough } from '../support/effort.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'plugins', 'man', '.ci', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];
let copy: string;

beforeAll(() => {
  copy = temporaryFolder('build');
  for (const name of SOURCES) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  declareTypesOf('src/channel/index.ts');
});

/** Limits the types to one module, because those of all modules would only take time. */
function declareTypesOf(module: string): void {
  const config = join(copy, 'tsconfig.build.json');
  const settings = JSON.parse(readFileSync(config, 'utf8')) as object;
  writeFileSync(config, JSON.stringify({ ...settings, include: [module] }));
}

const build = () => spawnSync(process.execPath, ['.ci/build.ts'], { cwd: copy, encoding: 'utf8' });

it('a build replaces the previous build, and leaves no other files', () => {
  cpSync(join(ROOT, 'bin'), join(copy, 'dist/stale'), { recursive: true });
  const before = readdirSync(copy);
  expect(build()).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(copy)).toEqual(before);
  expect(readdirSync(join(copy, 'dist'))).toEqual(['.inputs', 'man', 'plugins', 'src']);
  for (const file of [
    'src/cli/main.js',
    'src/channel/index.d.ts',
    'src/daemon/store/kernels/sqlite/schema.sql',
    'plugins/webchat/widget/widget.js',
    'plugins/webchat/demo/index.html',
  ])
    expect(existsSync(join(copy, 'dist', file)), file).toBe(true);
  expect(existsSync(join(copy, 'dist/man/agentd.1'))).toBe(true);
});

it('a build contains the completion script of each shell, made from the sources', async () => {
  const vocabulary = await readVocabulary();
  for (const [shell, makeScript] of Object.entries(SCRIPTS))
    expect(readFileSync(join(copy, 'dist/src/cli/completion', `agentd.${shell}`), 'utf8')).toBe(
      makeScript(vocabulary),
    );
});

it('a build contains its commit, even if nothing else has to be built', () => {
  const commit = () => readFileSync(join(copy, 'dist/src/daemon/files/commit.txt'), 'utf8');
  expect(commit()).toBe('');
  const named = spawnSync(process.execPath, ['.ci/build.ts'], {
    cwd: copy,
    env: { ...process.env, AGENTD_COMMIT: 'abc123' },
  });
  expect([named.status, commit()]).toEqual([0, 'abc123']);
});

it.runIf(isThorough)('nothing is built if no input has changed, and everything is built if one has', () => {
  const built = join(copy, 'dist/src/cli/main.js');
  const before = statSync(built);
  expect(build()).toMatchObject({ status: 0 });
  expect(statSync(built).ino).toBe(before.ino);
  writeFileSync(join(copy, 'src/notes.json'), '{}');
  expect(build()).toMatchObject({ status: 0 });
  expect(statSync(built).ino).not.toBe(before.ino);
});

it('the build has the modules that the package exports, and their types', () => {
  const targets = Object.values(manifest.exports).filter((target) => typeof target === 'object');
  const missing = targets
    .flatMap((target) => Object.values(target))
    .filter((file) => !existsSync(join(ROOT, file)));
  expect(targets.length).toBeGreaterThan(0);
  expect(missing).toEqual([]);
});

it('a failed build does not change the previous build, which a daemon may be using', () => {
  const old = join(copy, 'dist/src/cli/main.js');
  mkdirSync(dirname(old), { recursive: true });
  writeFileSync(old, 'the old build');
  writeFileSync(join(copy, 'src/broken.ts'), 'export const broken: string = 1;\n');
  declareTypesOf('src/broken.ts');
  const before = readdirSync(copy);
  const { status, stdout } = build();
  expect(status).not.toBe(0);
  expect(stdout).toContain('src/broken.ts');
  expect(readFileSync(old, 'utf8')).toBe('the old build');
  expect(readdirSync(copy)).toEqual(before);
});

/** Prints whether Node.js has loaded its own fetch, which each module that imports from `node:http` makes it load. */
const TELL_FETCH = `data:text/javascript,process.on('exit',()=>console.log('fetch',process.moduleLoadList.some((name)=>name.endsWith('internal/deps/undici/undici'))))`;

it('the daemon does not load the fetch of Node.js, which would need a tenth of its start', async () => {
  const daemon = await startAgentd({ env: { NODE_OPTIONS: `--import=${TELL_FETCH}` } });
  await daemon.stop();
  expect(daemon.stdout()).toContain('fetch false');
});
