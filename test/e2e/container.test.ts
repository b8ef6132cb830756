import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { chown, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { execa } from 'execa';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { freePort } from '../support/free-ports.ts';

// Tests config/Containerfile without a container engine: the test copies the same files, and runs them with the same
// environment variables and, if the test runs as root, as the same user.

const ROOT = resolve(import.meta.dirname, '../..');
const USER = 10001;
const isRoot = process.getuid?.() === 0;
/**
 * Runs a command as a user id without an account, as in the container. Empty if the test does not run as root, because
 * only root can switch to another user.
 */
const AS_USER = isRoot ? ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'] : [];

const containerfile = readFileSync(join(ROOT, 'config/Containerfile'), 'utf8').replaceAll(/\\\n\s*/g, ' ');

/** The compiled code that the tests keep in `dist` is in no image. */
const isBuilt = (file: string) => basename(file) !== '.compiled';

let image: string;
let env: Record<string, string>;
let port: number;
beforeAll(async () => {
  image = mkdtempSync(join(tmpdir(), 'agentd-container-'));
  for (const [, path = ''] of containerfile.matchAll(/^COPY --from=build \/agentd\/(\S+) /gm)) {
    const target = join(image, path);
    if (path === 'node_modules') symlinkSync(join(ROOT, path), target, 'dir');
    else cpSync(join(ROOT, path), target, { recursive: true, filter: isBuilt });
  }
  const made = await command(['init', '--yes', '--secret-files', '--channels', 'webchat,sse'], {
    cwd: image,
    base: false,
  });
  expect(made.code).toBe(0);
  mkdirSync(join(image, 'state'), { mode: 0o700 });
  port = await freePort();
  const [, variables = ''] = /^ENV (.*)$/m.exec(containerfile) ?? [];
  env = {
    PATH: process.env.PATH ?? '',
    ...Object.fromEntries(variables.split(/ +/).map((pair) => pair.split('=') as [string, string])),
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_LISTEN: '127.0.0.1:0',
    STATE_DIR: join(image, 'state'),
  };
  if (!isRoot) return;
  // Let other users reach the directory of the tests.
  if ((statSync(tmpdir()).mode & 0o001) === 0) chmodSync(tmpdir(), 0o711);
  chmodSync(image, 0o755);
  await chown(join(image, 'state'), USER, USER);
  for (const name of ['.', ...(await readdir(join(image, 'secrets')))])
    await chown(join(image, 'secrets', name), USER, USER);
});
afterAll(() => rmSync(image, { recursive: true }));

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

/** The words of an instruction in exec form, without the program `node`. */
function wordsOf(pattern: RegExp): string[] {
  const [, list = '[]'] = pattern.exec(containerfile) ?? [];
  const [program, ...words] = JSON.parse(list) as string[];
  expect(program).toBe('node');
  return words;
}

describe('the image', () => {
  it('needs no user name, no home directory and no shell to run the daemon and to check its health', async () => {
    const [, list = '[]'] = /^CMD (.*)$/m.exec(containerfile) ?? [];
    const daemon = run([...wordsOf(/^ENTRYPOINT (.*)$/m), ...(JSON.parse(list) as string[])]);
    try {
      await ready(daemon);
      const health = await run(wordsOf(/^HEALTHCHECK .*? CMD (.*)$/m));
      expect([health.exitCode, health.stderr]).toEqual([0, '']);
      expect(health.stdout).toContain('is ok');
    } finally {
      daemon.kill('SIGTERM');
    }
    expect((await daemon).exitCode).toBe(0);
    expect((await run(wordsOf(/^HEALTHCHECK .*? CMD (.*)$/m))).exitCode).toBe(69);
  });
});

describe('config/kubernetes/configmap.yaml', () => {
  it('is a valid configuration, together with the secrets that its first lines name', async () => {
    const manifest = load(readFileSync(join(ROOT, 'config/kubernetes/configmap.yaml'), 'utf8')) as {
      data: Record<string, string>;
    };
    const settings = load(manifest.data['agentd.yaml'] ?? '') as Record<string, unknown>;
    const values = {
      ...settings,
      JWT_SECRET_KEY_FILE: join(image, 'secrets/JWT_SECRET_KEY'),
      TOKEN_ENCRYPTION_KEY_FILE: join(image, 'secrets/TOKEN_ENCRYPTION_KEY'),
      REDIS_URL_FILE: '',
      DATABASE_URL_FILE: '',
      REDIS_URL: 'redis://:secret@redis:6379/0',
      DATABASE_URL: 'postgres://agentd:secret@postgresql/agentd?sslmode=verify-full',
    };
    const environment = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join() : String(value),
      ]),
    );
    const checked = await command(['config', 'check'], {
      base: false,
      env: { ...environment, ADMIN_LISTEN: ':9464' },
    });
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    expect(checked.stdout).toContain('channels: webchat, sse');
  });
});
