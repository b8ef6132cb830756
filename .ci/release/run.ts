/**
 * `npm run release -- VERSION [--dry-run] [--skip-tests]`, run by a person on a clean checkout of main.
 *
 * It runs all tests thoroughly, writes the version and the changelog, and commits them, because the build contains its commit. It
 * packs agentd, installs the package in an empty folder and runs it there, and writes a bill of materials. Then it tags.
 * It neither pushes nor publishes: it prints the commands. If a step fails, or with `--dry-run`, it takes back the commit
 * and all files that it changed.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { unreleased, withRelease } from './changelog.ts';
import { tryPackage } from './try-package.ts';
import { isLater, isVersion } from './version.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const BRANCH = 'main';
/** Maximum size of the bill of materials, bytes. */
const BILL_MAX = 32 * 1024 * 1024;
/** The files that a release changes. */
const CHANGED = ['package.json', 'package-lock.json', 'CHANGELOG.md'];
const USAGE = 'usage: npm run release -- VERSION [--dry-run] [--skip-tests]';

/** The reason why a release is refused, for the person who started it. */
class Refused extends Error {}

interface Release {
  version: string;
  isDryRun: boolean;
  skipsTests: boolean;
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function npm(...args: string[]): void {
  execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function currentVersion(): string {
  return (JSON.parse(read('package.json')) as { version: string }).version;
}

function readRelease(args: readonly string[]): Release {
  const { values, positionals } = parse(args);
  const [version = '', ...others] = positionals;
  if (others.length > 0 || !isVersion(version)) throw new Refused(USAGE);
  return { version, isDryRun: values['dry-run'] === true, skipsTests: values['skip-tests'] === true };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { 'dry-run': { type: 'boolean' }, 'skip-tests': { type: 'boolean' } },
    });
  } catch {
    throw new Refused(USAGE);
  }
}

/** Checks everything that must be true before a file is changed. */
function check({ version, isDryRun }: Release): void {
  const current = currentVersion();
  if (!isLater(version, current)) throw new Refused(`${version} is not later than ${current}`);
  const dirty = git('status', '--porcelain');
  if (dirty !== '') throw new Refused(`the working tree has changes; commit or remove them:\n${dirty}`);
  const branch = git('branch', '--show-current');
  if (branch !== BRANCH && !isDryRun)
    throw new Refused(`releases are made on ${BRANCH}, but the current branch is ${branch || 'none'}`);
  if (git('tag', '--list', `v${version}`) !== '') throw new Refused(`the tag v${version} exists`);
  const entries = unreleased(read('CHANGELOG.md'));
  if (entries === null) throw new Refused('CHANGELOG.md has no section [Unreleased]');
  if (entries === '') throw new Refused('CHANGELOG.md has no entry under [Unreleased]');
}

function writeVersion({ version }: Release): void {
  execFileSync('npm', ['version', version, '--no-git-tag-version', '--ignore-scripts'], { cwd: ROOT });
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(join(ROOT, 'CHANGELOG.md'), withRelease(read('CHANGELOG.md'), version, today));
}

/** Builds and packs agentd, and tries the package. Returns the path of the tarball in this folder. */
async function pack(version: string, folder: string): Promise<string> {
  npm('run', 'build');
  npm('pack', '--pack-destination', folder);
  const tarball = join(folder, `agentd-${version}.tgz`);
  console.log(`trying ${tarball} in an empty folder`);
  await tryPackage(tarball, version);
  return tarball;
}

/**
 * Writes the bill of materials: the packages that an installation gets, in the format CycloneDX.
 * @returns its path in this folder
 */
function writeBill(version: string, folder: string): string {
  // The project's .npmrc includes the packages for development, which has priority over `--omit`.
  const words = ['sbom', '--package-lock-only', '--include=prod', '--omit=dev', '--sbom-format=cyclonedx'];
  const file = join(folder, `agentd-${version}.cdx.json`);
  writeFileSync(file, execFileSync('npm', words, { cwd: ROOT, encoding: 'utf8', maxBuffer: BILL_MAX }));
  return file;
}

function commit(version: string): void {
  git('commit', '--quiet', '--message', `chore: release ${version}`, '--', ...CHANGED);
}

function tag(version: string, entries: string): void {
  git(
    'tag',
    '--annotate',
    `v${version}`,
    '--cleanup=verbatim',
    '--message',
    `agentd ${version}\n\n${entries}`,
  );
}

async function run(args: readonly string[]): Promise<void> {
  const release = readRelease(args);
  const { version, isDryRun, skipsTests } = release;
  check(release);
  const entries = unreleased(read('CHANGELOG.md')) ?? '';
  if (!skipsTests) npm('run', 'test:thorough');

  const folder = mkdtempSync(join(tmpdir(), 'agentd-package-'));
  const before = git('rev-parse', 'HEAD');
  let isDone = false;
  try {
    writeVersion(release);
    // Before the build, which contains its commit.
    commit(version);
    const files = [await pack(version, folder), writeBill(version, folder)];
    console.log(`\nThe entries of ${version}:\n\n${entries}\n`);
    if (isDryRun) {
      console.log(`${version} can be released. Nothing was changed.`);
      return;
    }
    tag(version, entries);
    isDone = true;
    for (const file of files) copyFileSync(file, join(ROOT, basename(file)));
    console.log(`${version} is committed and tagged. To publish it:`);
    console.log(`  git push --follow-tags\n  npm publish ${join(ROOT, `agentd-${version}.tgz`)}`);
    console.log(`agentd-${version}.cdx.json lists its packages. Publish the file beside it.`);
  } finally {
    if (!isDone) {
      git('reset', '--quiet', '--keep', before);
      git('restore', '--', ...CHANGED);
    }
    rmSync(folder, { recursive: true });
  }
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
