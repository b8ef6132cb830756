import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tryPackage } from '../../.ci/release/try-package.ts';
import { tarball } from '../../src/cli/scaffold.ts';
import { isThorough } from '../support/effort.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CHANGELOG =
  '# Changelog\n\n## [Unreleased]\n\n- It is faster.\n\n## [0.2.0] - 2026-11-22\n\n- It is new.\n';

/** The program of a package that passes the checks of a release. It has no dependencies, so no registry is needed. */
const PROGRAM = `#!/usr/bin/env node
import { createServer } from 'node:http';
import manifest from '../package.json' with { type: 'json' };
if (process.argv[2] === '--version') console.log(manifest.version);
else {
  const server = createServer((_request, response) => response.end('{}'));
  server.listen(0, '127.0.0.1', () => console.log('ready on http://127.0.0.1:' + server.address().port));
  process.once('SIGTERM', () => process.exit(0));
}
`;
/** Writes the commit of a build, as .ci/build.ts does. */
const BUILD = 'git rev-parse HEAD > dist/commit';
const SHRINKWRAP = 'node .ci/release/shrinkwrap.ts';
const MANIFEST = {
  name: 'agentd',
  version: '0.2.0',
  type: 'module',
  devDependencies: { tests: '1.0.0' },
  bin: 'bin/agentd.js',
  files: ['bin', 'dist', 'npm-shrinkwrap.json'],
  exports: {
    './agent': { types: './dist/agent.d.ts', default: './dist/agent.js' },
    './package.json': './package.json',
  },
  scripts: {
    build: 'node --check dist/agent.js',
    'test:thorough': 'node --check test.js',
    prepack: SHRINKWRAP,
    postpack: 'rm npm-shrinkwrap.json',
  },
};
/** The files of the package. */
const PACKAGE = {
  'package.json': JSON.stringify(MANIFEST),
  'bin/agentd.js': PROGRAM,
  'dist/agent.js': 'export {};',
  'dist/agent.d.ts': 'export {};',
};

/** The locked packages: the package itself, and one that only its tests need. */
const LOCKED = {
  '': {
    name: 'agentd',
    version: '0.2.0',
    bin: { agentd: 'bin/agentd.js' },
    devDependencies: { tests: '1.0.0' },
  },
  'node_modules/tests': { version: '1.0.0', dev: true },
};

const folder = temporaryFolder('release-test');
/** The repository before the release. Each test gets a copy, always at the same path. */
const original = `${temporaryFolder('release-original')}/repository`;
beforeAll(() => {
  cpSync(join(ROOT, '.ci/release'), join(folder, '.ci/release'), { recursive: true });
  for (const [file, content] of Object.entries(PACKAGE)) write(file, content);
  write(
    'package-lock.json',
    JSON.stringify({ name: 'agentd', version: '0.2.0', lockfileVersion: 3, packages: LOCKED }),
  );
  write('CHANGELOG.md', CHANGELOG);
  write('test.js', '');
  write('.gitignore', '*.tgz\n*.cdx.json\ndist/commit\n');
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'a change');
  renameSync(folder, original);
});
beforeEach(() => cpSync(original, folder, { recursive: true }));
afterEach(() => rmSync(folder, { recursive: true }));

function write(file: string, content: string): void {
  mkdirSync(join(folder, file, '..'), { recursive: true });
  writeFileSync(join(folder, file), content);
}

const read = (file: string) => readFileSync(join(folder, file), 'utf8');

/** The person who runs the tests may not have configured a name in git. */
const AUTHOR = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@a.example',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@a.example',
};

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...AUTHOR },
  }).trim();
}

/** Replaces the only commit. */
function amend(): void {
  git('add', '--all');
  git('commit', '--quiet', '--amend', '--no-edit');
}

function release(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['.ci/release/run.ts', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...AUTHOR },
  });
  return { status, stdout, stderr };
}

/** Expects no commit, no tag and no changed file. */
function expectNothingChanged(): void {
  expect(git('status', '--porcelain')).toBe('');
  expect(git('tag')).toBe('');
  expect(git('log', '--format=%s')).toBe('a change');
  expect(read('CHANGELOG.md')).toBe(CHANGELOG);
}

describe('a release', () => {
  it.runIf(isThorough)('tests the package, then commits the version and the changelog, and tags them', () => {
    const { status, stdout, stderr } = release('0.3.0');
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    expect(stdout).toMatch(/git push --follow-tags\n {2}npm publish .*agentd-0\.3\.0\.tgz/);
    expect(git('log', '-1', '--format=%s')).toBe('chore: release 0.3.0');
    expect(git('tag', '--list', '--format=%(refname:short) %(contents)')).toBe(
      'v0.3.0 agentd 0.3.0\n\n- It is faster.',
    );
    expect(git('status', '--porcelain')).toBe('');
    expect(JSON.parse(read('package.json'))).toMatchObject({ version: '0.3.0' });
    expect(JSON.parse(read('package-lock.json'))).toMatchObject({ version: '0.3.0' });
    expect(read('CHANGELOG.md')).toMatch(
      /^# Changelog\n\n## \[Unreleased\]\n\n## \[0\.3\.0\] - \d{4}-\d\d-\d\d\n\n- It is faster\.\n\n## \[0\.2\.0\]/,
    );
  });

  it.runIf(isThorough)(
    'leaves the package, which has the versions of its packages but none for tests, and a bill of materials',
    () => {
      expect(release('0.3.0').status).toBe(0);
      const packed = (file: string) =>
        execFileSync('tar', ['-xzOf', 'agentd-0.3.0.tgz', `package/${file}`], {
          cwd: folder,
          encoding: 'utf8',
        });
      const { version, packages } = JSON.parse(packed('npm-shrinkwrap.json'));
      expect([version, Object.keys(packages)]).toEqual(['0.3.0', ['']]);
      expect(packages['']).not.toHaveProperty('devDependencies');
      expect(existsSync(join(folder, 'npm-shrinkwrap.json'))).toBe(false);
      expect(JSON.parse(read('agentd-0.3.0.cdx.json'))).toMatchObject({
        bomFormat: 'CycloneDX',
        metadata: { component: { 'bom-ref': 'agentd@0.3.0' } },
        components: [],
      });
    },
  );

  it.runIf(isThorough)('contains the commit that is tagged', () => {
    write('package.json', JSON.stringify({ ...MANIFEST, scripts: { ...MANIFEST.scripts, build: BUILD } }));
    amend();
    expect(release('0.3.0').status).toBe(0);
    const built = execFileSync('tar', ['-xzOf', 'agentd-0.3.0.tgz', 'package/dist/commit'], { cwd: folder });
    expect(built.toString().trim()).toBe(git('rev-parse', 'v0.3.0^{commit}'));
  });

  it('changes nothing with --dry-run, on any branch, and runs no tests with --skip-tests', () => {
    write('test.js', '(');
    amend();
    git('switch', '--quiet', '--create', 'topic');
    const { status, stdout } = release('0.3.0', '--dry-run', '--skip-tests');
    expect(status).toBe(0);
    expect(stdout).toContain('- It is faster.\n\n0.3.0 can be released. Nothing was changed.');
    expectNothingChanged();
  });

  it.runIf(isThorough).each([
    ['tests that fail', [], 'test.js', '('],
    ['a build that fails', ['--skip-tests'], 'dist/agent.js', 'export {'],
    [
      'a package whose daemon does not start',
      ['--skip-tests'],
      'bin/agentd.js',
      PROGRAM.replace('server.listen', 'server.missing'),
    ],
  ])('changes nothing after %s', (_title, options, file, content) => {
    write(file, content);
    amend();
    expect(release('0.3.0', ...options).status).toBe(1);
    expectNothingChanged();
  });
});

describe.runIf(isThorough)('a package fails its trial', () => {
  it.each([
    ['without the types that it names', { 'dist/agent.d.ts': undefined }, 'which is not in the package'],
    [
      'if its program prints another version',
      { 'bin/agentd.js': PROGRAM.replace('manifest.version', '1') },
      'agentd --version prints "1\\n"',
    ],
  ])('%s', async (_title, changed, reason) => {
    const files = Object.entries<string | undefined>({ ...PACKAGE, ...changed }).flatMap(([name, content]) =>
      content === undefined
        ? []
        : { name: `package/${name}`, content: Buffer.from(content), isExecutable: name === MANIFEST.bin },
    );
    const file = join(folder, 'agentd-0.2.0.tgz');
    writeFileSync(file, tarball(files));
    await expect(tryPackage(file, '0.2.0')).rejects.toThrow(reason);
  });
});

describe('a release is refused', () => {
  const refused = (args: readonly string[], reason: string | RegExp) =>
    expect(release(...args)).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(reason) });

  it.each([[[]], [['0.3']], [['0.3.0', '0.4.0']], [['0.3.0', '--force']]])(
    'for the arguments %j, and its usage is printed',
    (args) => {
      refused(args, /^usage: npm run release -- VERSION \[--dry-run\] \[--skip-tests\]\n$/);
    },
  );

  it('for a version that is not later than the current version', () => {
    refused(['0.2.0'], '^0.2.0 is not later than 0.2.0\n$');
  });

  it.each([
    ['changed', 'CHANGELOG.md'],
    ['new', 'notes.txt'],
  ])('with a %s file in the working tree', (_title, file) => {
    write(file, 'text');
    refused(['0.3.0', '--dry-run'], file);
    expect(read(file)).toBe('text');
  });

  it('on another branch', () => {
    git('switch', '--quiet', '--create', 'topic');
    refused(['0.3.0'], '^releases are made on main, but the current branch is topic\n$');
  });

  it('if the tag exists', () => {
    git('tag', 'v0.3.0');
    refused(['0.3.0'], '^the tag v0.3.0 exists\n$');
  });

  it('without an entry in the changelog', () => {
    write('CHANGELOG.md', CHANGELOG.replace('- It is faster.\n', ''));
    amend();
    refused(['0.3.0'], /^CHANGELOG.md has no entry under \[Unreleased\]\n$/);
    write('CHANGELOG.md', '# Changelog\n');
    amend();
    refused(['0.3.0'], /^CHANGELOG.md has no section \[Unreleased\]\n$/);
  });
});
