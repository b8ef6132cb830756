import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { chown, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { buildStage, containerStages } from '../support/containerfile.ts';
import { freePort } from '../support/free-ports.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Tests config/Containerfile without a container engine: the test carries out its instructions in an empty folder, with
// the files that .dockerignore lets through. It runs the result with the same environment variables and, if the test
// runs as root, as the same user.

const USER = 10001;
const isRoot = process.getuid?.() === 0;
/**
 * Runs a command as a user id without an account, as in the container. Empty if the test does not run as root, because
 * only root can switch to another user.
 */
const AS_USER = isRoot ? ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'] : [];

const stages = containerStages();
const runtime = stages.at(-1)?.instructions ?? [];

let folder: string;
/** The folder that stands in for /agentd of the image. */
let image: string;
let env: Record<string, string>;
let port: number;
// Installs all packages and builds, which may take minutes on a busy machine.
beforeAll(async () => {
  folder = temporaryFolder('container');
  for (const stage of stages) image = buildStage(stage, folder);
  const made = await command(['init', '--yes', '--secret-files', '--channels', 'webchat,sse'], {
    cwd: image,
    base: false,
  });
  expect(made.code).toBe(0);
  mkdirSync(join(image, 'state'), { mode: 0o700 });
  port = await freePort();
  env = {
    PATH: process.env.PATH ?? '',
    ...Object.fromEntries(
      theOnly('ENV')
        .split(/ +/)
        .map((pair) => pair.split('=') as [string, string]),
    ),
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
    STATE_DIR: join(image, 'state'),
  };
  if (!isRoot) return;
  // Let other users reach the directory of the tests.
  if ((statSync(tmpdir()).mode & 0o001) === 0) chmodSync(tmpdir(), 0o711);
  for (const path of [folder, dirname(image), image]) chmodSync(path, 0o755);
  await chown(join(image, 'state'), USER, USER);
  for (const name of ['.', ...(await readdir(join(image, 'secrets')))])
    await chown(join(image, 'secrets', name), USER, USER);
}, 300_000);

function run(words: readonly string[]) {
  const [program = '', ...args] = [...AS_USER, process.execPath, ...words];
  return execa(program, args, {
    cwd: image,
    env,
    extendEnv: false,
    reject: false,
    forceKillAfterDelay: false,
  });
}

/** Resolves when the daemon prints that it is ready. Rejects with the daemon's errors if it exits first. */
function ready(daemon: ReturnType<typeof run>): Promise<void> {
  const printsThatItIs = new Promise<void>((done) => {
    let printed = '';
    daemon.stdout.on('data', (bytes) => {
      printed += String(bytes);
      if (printed.includes('agentd is ready')) done();
    });
  });
  const ends = async () => {
    const { stderr } = await daemon;
    throw new Error(`the daemon has ended: ${stderr}`);
  };
  return Promise.race([printsThatItIs, ends()]);
}

/** The text of an instruction that the last stage has once. */
function theOnly(name: string): string {
  const [found, ...others] = runtime.filter(({ word }) => word === name);
  expect([name, found === undefined, others]).toEqual([name, false, []]);
  return found?.rest ?? '';
}

/** The words of an instruction in exec form. */
function wordsOf(name: string): string[] {
  return JSON.parse(theOnly(name).replace(/^.*CMD /, '')) as string[];
}

/** Carries out the command of an instruction, which must be the program `node`. */
function runWords([program, ...words]: readonly string[]) {
  expect(program).toBe('node');
  return run(words);
}

describe('the image', () => {
  it('needs no user name, no home directory and no shell to run the daemon and to check its health', async () => {
    const daemon = runWords([...wordsOf('ENTRYPOINT'), ...wordsOf('CMD')]);
    try {
      await ready(daemon);
      const health = await runWords(wordsOf('HEALTHCHECK'));
      expect([health.exitCode, health.stderr]).toEqual([0, '']);
      expect(health.stdout).toContain('is live');
    } finally {
      daemon.kill('SIGTERM');
    }
    expect((await daemon).exitCode).toBe(0);
    expect((await runWords(wordsOf('HEALTHCHECK'))).exitCode).toBe(69);
  });
});
