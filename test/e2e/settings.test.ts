import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { explainError } from '../../src/cli/report-error.ts';
import { command } from '../support/command.ts';
import { agentd, BIN, baseEnv, SECRET, startAgentd } from '../support/daemon.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

/** A working directory with these files. */
const folderWith = (files: Record<string, string> = {}) => temporaryFolder('settings', files);

test('config check and serve report all problems at once, each with its setting, its source and a correct value, and exit with 78', async () => {
  const cwd = folderWith({
    'agentd.yaml': 'AGENT_MAX_STEPS: many\nAGENT_MAXSTEPS: 3\n',
    '.env': 'HOST=127.0.0.1\nWEBCHAT_ENABLD=true\n',
  });
  const env = { PORT: '99999', MESSAGING_PLATFORMS: 'webchta' };
  const { code, stdout } = await command(['config', 'check', '--json'], { cwd, env, base: false });
  const { valid, problems } = JSON.parse(stdout) as {
    valid: boolean;
    problems: Record<string, string | null>[];
  };
  expect([code, valid]).toEqual([78, false]);
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ setting: 'JWT_ALGORITHM', problem: 'is not set' }),
      expect.objectContaining({ setting: 'JWT_SECRET_KEY' }),
      {
        setting: 'PORT',
        value: '99999',
        source: 'environment',
        problem: 'is more than 65535',
        right: 'a whole number from 0 to 65535',
      },
      expect.objectContaining({ setting: 'AGENT_MAX_STEPS', value: 'many', source: 'agentd.yaml' }),
      expect.objectContaining({ setting: 'AGENT_MAXSTEPS', right: 'AGENT_MAX_STEPS, perhaps' }),
      expect.objectContaining({
        setting: 'WEBCHAT_ENABLD',
        source: '.env',
        problem: 'is not a setting, but looks like WEBCHAT_ENABLED',
      }),
      expect.objectContaining({
        setting: 'MESSAGING_PLATFORMS',
        value: 'webchta',
        problem: 'there is no channel of this name',
      }),
    ]),
  );
  const serve = await agentd(['serve'], { cwd, env, base: false });
  expect([serve.code, serve.stdout]).toEqual([78, '']);
  for (const { setting } of problems) expect(serve.stderr).toContain(String(setting));
});

/** What the program prints, and its exit code, if a daemon does not start with these settings. */
async function whyNotStarted(directory: string, env: Record<string, string>) {
  return explainError(await startDaemonHere({ directory, env }).catch((reason: unknown) => reason));
}

describe('serve', () => {
  test('exits with 69 if its port is in use', async () => {
    const { server, port } = await busyPort();
    const cwd = folderWith();
    const { message, exitCode } = await whyNotStarted(cwd, { PORT: String(port) });
    server.close();
    expect(exitCode).toBe(69);
    expect(message).toContain(`the address is in use (127.0.0.1:${port})`);
  });

  test('exits with 69 if another daemon uses the same STATE_DIR', async () => {
    const cwd = folderWith();
    const first = await startAgentd({ directory: cwd });
    const second = await agentd(['serve'], { cwd });
    expect([second.code, second.stdout]).toEqual([69, '']);
    expect(second.stderr).toContain('Stop the daemon that uses this STATE_DIR, then repeat the command.');
    expect((await post(first.url, { user_id: 'u', message: 'hello' })).status).toBe(200);
    // A daemon that is killed leaves no lock behind.
    await first.stop('SIGKILL');
    const third = await startDaemonHere({ directory: cwd });
    expect(await third.stop()).toBe(0);
  });

  test.each([
    ['HOST', 'no-such-host.invalid', 78, 'HOST=no-such-host.invalid'],
    ['STATE_DIR', '/proc/agentd', 69, 'cannot open the store'],
    ['STATE_DIR', '/dev/null/agentd', 69, 'cannot open the store'],
    ['LOG_FILE', '/proc/agentd/agentd.log', 78, 'LOG_FILE=/proc/agentd/agentd.log'],
    ['LOG_FILE', '/dev', 78, 'LOG_FILE=/dev\n    wrong: cannot be opened: EISDIR'],
  ])('exits at once if %s=%s cannot be used', async (name, value, code, words) => {
    const { message, exitCode, stack } = await whyNotStarted(folderWith(), { [name]: value });
    expect([exitCode, message, stack]).toEqual([code, expect.stringContaining(words), undefined]);
  });
});

describe('ENABLE_DEBUGPY', () => {
  test('opens the inspector on 127.0.0.1:5678 only, with a warning; a busy port does not stop the daemon', async () => {
    const taken = await listenOn(5678).catch(() => null);
    const blocked = await startAgentd({ env: { ENABLE_DEBUGPY: 'true' } });
    await blocked.logged(({ level, msg }) => level === 'warn' && /5678 is in use/.test(String(msg)));
    expect((await post(blocked.url, { user_id: 'u', message: 'hello' })).status).toBe(200);
    await blocked.stop();
    // Another program uses the port, so nothing more can be tested.
    if (taken === null) return;
    await new Promise((resolve) => taken.close(resolve));

    const daemon = await startAgentd({ env: { ENABLE_DEBUGPY: 'true', HOST: '0.0.0.0' } });
    await daemon.logged(
      ({ level, msg }) => level === 'warn' && /listens on 127\.0\.0\.1:5678/.test(String(msg)),
    );
    const version = (await (await fetch('http://127.0.0.1:5678/json/version')).json()) as { Browser: string };
    expect(version.Browser).toMatch(/^node\.js/);
    expect(listenersOn(5678)).toEqual(['0100007F']);
    await daemon.stop();
  });
});

describe('the log', () => {
  test('LOG_FILE is reopened on SIGHUP, so that it can be rotated, and JWT_DEBUG logs the claims and the decision, but only 8 characters and a hash of the token', async () => {
    const cwd = folderWith();
    const LOG_FILE = join(cwd, 'log', 'agentd.log');
    const daemon = await startAgentd({
      directory: cwd,
      env: { JWT_DEBUG: 'true', LOG_LEVEL: 'debug', LOG_FILE },
    });
    const good = await token({ sub: 'ada' });
    const bad = await token({ secret: 'another-secret-of-at-least-256-bits--' });
    await post(daemon.url, { user_id: 'u', message: 'hello' }, { bearer: good });
    renameSync(LOG_FILE, `${LOG_FILE}.1`);
    daemon.signal('SIGHUP');
    await daemon.logged(({ msg }) => msg === 'log file reopened');
    await post(daemon.url, { user_id: 'u', message: `my token is ${bad}`, jwt_token: bad });
    await daemon.stop();
    const [rotated, current] = [`${LOG_FILE}.1`, LOG_FILE].map((file) => readFileSync(file, 'utf8'));
    expect(rotated).toContain('agentd is ready');
    expect(current).toContain('log file reopened');
    const written = `${rotated}${current}`;
    expect(written).toBe(
      `${daemon
        .stderr()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n')}\n`,
    );
    const checked = daemon.log().filter(({ msg }) => msg === 'token checked');
    expect(checked).toHaveLength(2);
    expect(JSON.stringify(checked[0])).toContain('ada@example.com');
    expect(JSON.stringify(checked[0])).toContain(good.slice(0, 8));
    for (const text of [written, daemon.stderr(), daemon.stdout()]) {
      for (const secret of [good, bad, good.split('.')[1], good.split('.')[2], bad.split('.')[2], SECRET])
        expect(text).not.toContain(secret);
    }
    expect(statSync(LOG_FILE).mode & 0o007).toBe(0);
  });

  test('the daemon does not stop if standard error has lost its reader or is on a full disk', async () => {
    const cwd = folderWith();
    for (const target of ['/dev/full', '>(head -c 1 >/dev/null)']) {
      const LOG_FILE = join(cwd, `${target.length}.log`);
      const shell = spawn('bash', ['-c', `exec '${process.execPath}' '${BIN}' serve 2> ${target}`], {
        cwd,
        env: { ...baseEnv(cwd), LOG_FILE },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [printed] = (await once(shell.stdout, 'data')) as [Buffer];
      const url = /ready on (\S+)/.exec(String(printed))?.[1] ?? '';
      for (let count = 0; count < 3; count++)
        expect((await post(url, { user_id: 'u', message: 'hello' })).status).toBe(200);
      shell.kill('SIGTERM');
      expect(await once(shell, 'exit')).toEqual([0, null]);
      expect(readFileSync(LOG_FILE, 'utf8').match(/message answered/g)).toHaveLength(3);
    }
  });

  test('the daemon reports once that the disk of LOG_FILE is full, and still serves', async () => {
    const daemon = await startDaemonHere({ env: { LOG_FILE: '/dev/full' } });
    const asked = await post(daemon.url, { user_id: 'u', message: 'hello' });
    expect(asked.status).toBe(200);
    expect(await daemon.stop()).toBe(0);
    const told = daemon.log().filter(({ msg }) => /log file cannot be written: ENOSPC/.test(String(msg)));
    expect(told).toHaveLength(1);
  });
});

function listenOn(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

async function busyPort(): Promise<{ server: Server; port: number }> {
  const server = await listenOn(0);
  return { server, port: (server.address() as { port: number }).port };
}

/** The local addresses at which a program listens on this port, as the kernel writes them. */
function listenersOn(port: number): string[] {
  const LISTENING = '0A';
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local = '', , state]) => state === LISTENING && local.endsWith(`:${hex}`))
      .map(([, local = '']) => local.split(':')[0] ?? ''),
  );
}

test.skipIf(!existsSync('/dev/full'))('a command fails if its output cannot be written', () => {
  const full = openSync('/dev/full', 'w');
  for (const words of [['config', 'reference'], ['--help']]) {
    const { status, stderr } = spawnSync(process.execPath, [BIN, ...words], {
      cwd: folderWith(),
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect(stderr).toMatch(/^agentd: cannot write the output: ENOSPC.*\n$/);
    expect(status).toBe(1);
  }
  closeSync(full);
});
