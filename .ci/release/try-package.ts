import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** How long the daemon may run before it is killed, ms. */
const DAEMON_MS = 30_000;

interface Manifest {
  version: string;
  exports: Record<string, string | { types: string; default: string }>;
}

/**
 * Installs a packed agentd in an empty folder, as its users do, and tries it: `--version`, every module that may be
 * imported, and a daemon that answers a message. Rejects with the first failure.
 */
export async function tryPackage(tarball: string, version: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agentd-release-'));
  try {
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'tries-agentd', private: true }));
    await execute('npm', ['install', '--prefer-offline', tarball], { cwd: folder });
    const manifest = await installedManifest(folder);
    if (manifest.version !== version) throw new Error(`the package has version ${manifest.version}`);
    await importModules(folder, manifest);
    await checkVersion(folder, version);
    await answerOneMessage(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function installedManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'node_modules/agentd/package.json'), 'utf8')) as Manifest;
}

/** Checks that each module in `exports` loads, and that its types are in the package. */
async function importModules(folder: string, manifest: Manifest): Promise<void> {
  const modules = Object.entries(manifest.exports).filter(([, target]) => typeof target === 'object');
  for (const [entry, target] of modules) {
    const types = typeof target === 'object' ? target.types : '';
    if (!existsSync(join(folder, 'node_modules/agentd', types)))
      throw new Error(`exports["${entry}"].types names ${types}, which is not in the package`);
  }
  const script = modules.map(([entry]) => `await import('${entry.replace('.', 'agentd')}');`).join('\n');
  await execute(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder });
}

async function checkVersion(folder: string, version: string): Promise<void> {
  const { stdout } = await execute(programIn(folder), ['--version'], { cwd: folder });
  if (stdout.trim() !== version) throw new Error(`agentd --version prints ${JSON.stringify(stdout)}`);
}

/** Checks that a daemon with the sample company answers over HTTP, and stops with exit code 0. */
async function answerOneMessage(folder: string): Promise<void> {
  const daemon = spawn(programIn(folder), ['serve', '--dev'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: DAEMON_MS,
  });
  const exited = once(daemon, 'exit') as Promise<[number | null]>;
  try {
    const url = await findAddress(createInterface(daemon.stdout));
    const response = await fetch(`${url}/webchat/message`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ user_id: 'visitor', message: 'Who am I?' }),
    });
    if (!response.ok) throw new Error(`the daemon answered ${response.status}: ${await response.text()}`);
  } finally {
    daemon.kill('SIGTERM');
  }
  const [code] = await exited;
  if (code !== 0) throw new Error(`the daemon ended with exit code ${code}`);
}

/** The first address that the daemon prints. */
async function findAddress(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error('the daemon ended before it was ready');
}

function programIn(folder: string): string {
  return join(folder, 'node_modules/.bin/agentd');
}
