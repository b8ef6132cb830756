import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'plugins', 'man', '.ci', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];
let copy: string;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'agentd-build-'));
  for (const name of SOURCES) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return () => rm(copy, { recursive: true });
});

const build = () => spawnSync(process.execPath, ['.ci/build.ts'], { cwd: copy, encoding: 'utf8' });

it('a build replaces the previous build, and leaves no other files', () => {
  cpSync(join(ROOT, 'bin'), join(copy, 'dist/stale'), { recursive: true });
  const before = readdirSync(copy);
  expect(build()).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(copy)).toEqual(before);
  expect(readdirSync(join(copy, 'dist'))).toEqual(['man', 'plugins', 'src']);
  for (const file of [
    'src/cli/main.js',
    'src/channel/index.d.ts',
    'src/daemon/store/sqlite/003-streams.sql',
    'plugins/webchat/widget/widget.js',
    'plugins/webchat/demo/index.html',
  ])
    expect(existsSync(join(copy, 'dist', file)), file).toBe(true);
  expect(existsSync(join(copy, 'dist/man/agentd.1'))).toBe(true);
});

it('a failed build does not change the previous build, which a daemon may be using', () => {
  const old = join(copy, 'dist/src/cli/main.js');
  mkdirSync(dirname(old), { recursive: true });
  writeFileSync(old, 'the old build');
  writeFileSync(join(copy, 'src/broken.ts'), 'export const broken: string = 1;\n');
  // Compiling the other sources as well would only take time.
  const config = join(copy, 'tsconfig.build.json');
  writeFileSync(
    config,
    JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), include: ['src/broken.ts'] }),
  );
  const before = readdirSync(copy);
  const { status, stdout } = build();
  expect(status).not.toBe(0);
  expect(stdout).toContain('src/broken.ts');
  expect(readFileSync(old, 'utf8')).toBe('the old build');
  expect(readdirSync(copy)).toEqual(before);
});
