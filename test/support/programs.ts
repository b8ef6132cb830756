/**
 * Checks that the system programs that tests need are installed. As root on a machine with apt, it installs missing
 * programs. It prints the packages of programs that are still missing. With CI=true, a missing program is a failure, so
 * that no suite is silently skipped.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { BROWSERS } from './browsers.ts';

interface Program {
  program: string;
  /** Programs that can replace it. */
  or?: readonly string[];
  /** The package in Debian. */
  package: string;
  for: string;
}

const PROGRAMS: readonly Program[] = [
  { program: 'mandoc', package: 'mandoc', for: 'checking the manual pages' },
  {
    program: 'chromium-headless-shell',
    or: BROWSERS,
    package: 'chromium-headless-shell',
    for: 'the tests of the website widget',
  },
  { program: 'nginx', package: 'nginx-light', for: 'the test of the sample proxy configuration' },
  { program: 'redis-server', package: 'redis-server', for: 'the tests of the store that daemons share' },
  { program: 'openssl', package: 'openssl', for: 'the TLS certificates of the tests' },
  { program: 'initdb', package: 'postgresql', for: 'the tests of memory in Postgres' },
  { program: 'promtool', package: 'prometheus', for: 'the tests of the alert rules' },
  { program: 'systemd-notify', package: 'systemd', for: 'the tests of the systemd service' },
  {
    program: 'python3',
    package: 'python3-minimal',
    for: 'the notify socket in the tests of the systemd service',
  },
  { program: 'zsh', package: 'zsh', for: 'the tests of shell completion' },
  { program: 'fish', package: 'fish', for: 'the tests of shell completion' },
];

const missing = PROGRAMS.filter(isMissing);
if (missing.length > 0) {
  const packages = missing.map((entry) => entry.package);
  if (process.getuid?.() === 0 && found('apt-get')) install(packages);
  const still = PROGRAMS.filter(isMissing);
  for (const entry of still) {
    console.error(
      `MISSING: ${entry.program}, needed for ${entry.for}. Install it with: apt-get install ${entry.package}`,
    );
  }
  if (still.length > 0 && process.env.CI === 'true') process.exit(1);
}

function isMissing({ program, or = [] }: Program): boolean {
  return ![program, ...or].some(found);
}

function found(program: string): boolean {
  return (
    spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin) command -v ${program}`])
      .status === 0
  );
}

function install(packages: readonly string[]): void {
  console.error(`installing packages for the tests: ${packages.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', ['update', '-qq'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } catch (error) {
    console.error(
      `apt-get could not install them: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
