import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RESERVED_CHANNEL_NAMES } from '../../plugins/names.ts';
import { command } from '../support/command.ts';
import { type Agentd, agentd, startAgentd } from '../support/daemon.ts';
import { FakeModel } from '../support/fake-model.ts';
import { post } from '../support/webchat.ts';

const run = promisify(execFile);

/** Removes the settings that other tests give their daemons, except the free port. */
const NOTHING = {
  STATE_DIR: '',
  JWT_SECRET_KEY: '',
  JWT_ALGORITHM: '',
  WEBCHAT_ENABLED: '',
  LOOP_GUARD_ENABLED: '',
};

// The name of this folder has spaces and a quote, which a shell would interpret.
const folder = join(mkdtempSync(join(tmpdir(), 'agentd-dev-')), "an empty folder of Ada's");
mkdirSync(folder);
afterAll(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const serveDev = () => startAgentd({ directory: folder, args: ['--dev'], env: NOTHING });

/** The printed line after the heading. */
function lineAfter(printed: string, heading: string): string {
  const lines = printed.split('\n');
  const at = lines.indexOf(heading);
  expect(at, `${heading} in\n${printed}`).not.toBe(-1);
  return lines[at + 1] ?? '';
}

/** Runs a printed line as a person would paste it. */
async function paste(line: string): Promise<{ response: string; session_id: string; metadata: unknown }> {
  const { stdout } = await run('sh', ['-c', line], { cwd: tmpdir() });
  return JSON.parse(stdout);
}

describe('serve --dev in an empty folder', () => {
  let daemon: Agentd;
  let printed: string;
  beforeAll(async () => {
    daemon = await serveDev();
    printed = daemon.stdout();
  });
  afterAll(() => daemon.stop('SIGKILL'));

  test('prints a curl command that gets the data of the person in its token', async () => {
    const { response, session_id, metadata } = await paste(lineAfter(printed, 'Ask as Ada Lovelace:'));
    expect(response).toContain('You are **Ada Lovelace** (ada@example.com).');
    expect(response).toContain('Analytical engine, brass');
    expect(session_id).toMatch(/^webchat_ada_[\w-]{22,}$/);
    expect(metadata).toEqual({ platform: 'webchat', user_id: 'ada' });
  });

  test('prints a curl command without a token that gets a generic answer', async () => {
    const { response } = await paste(lineAfter(printed, 'Ask without signing in:'));
    expect(response).toContain('you are not signed in');
    expect(response).not.toMatch(/Ada|Lovelace/);
  });

  test('prints a token that is valid for 24 hours', async () => {
    const token = lineAfter(printed, 'A token of Ada Lovelace, valid for 24 hours:').trim();
    const [, payload = ''] = token.split('.');
    const { exp, iat } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, number>;
    expect((exp ?? 0) - (iat ?? 0)).toBe(86_400);
    const { body } = await post(daemon.url, { user_id: 'x', message: 'Who am I?', jwt_token: token });
    expect(body.response).toContain('Ada Lovelace');
  });

  test('shows no data of other people: Ada gets no data about Grace', async () => {
    const jwt_token = lineAfter(printed, 'A token of Ada Lovelace, valid for 24 hours:').trim();
    const { body } = await post(daemon.url, { user_id: 'x', message: 'grace@example.com', jwt_token });
    expect(body.response).not.toMatch(/Hopper|Compiler/);
  });

  test('explains how commands in a second terminal get the same settings', async () => {
    const line = lineAfter(printed, 'All other commands, in a second terminal in this directory:');
    const env = { PATH: process.env.PATH ?? '' };
    const list = await run('sh', ['-c', `${line} --json`], { cwd: folder, env });
    const sessions = JSON.parse(list.stdout) as { user_id: string }[];
    expect(sessions.map(({ user_id }) => user_id)).toContain('ada');
    expect(list.stderr).toBe('Using the settings of `serve --dev` in .agentd/env.\n');
    const status = await run('sh', ['-c', line.replace('sessions list', 'status')], { cwd: folder, env });
    expect(status.stdout).toContain(`agentd at ${daemon.url} is ok`);
    expect(printed).toContain('`npx agentd`');
  });

  test('offers the tools of its sample API even to commands in a second terminal', async () => {
    const beside = (args: string[], input = '') => command(args, { cwd: folder, base: false, input });
    const listed = JSON.parse((await beside(['tools', 'list', '--json'])).stdout) as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'shop_listProducts',
        'shop_listOrders',
        'shop_cancelOrder',
        'shop_changeAddress',
      ]),
    );
    const token = lineAfter(printed, 'A token of Ada Lovelace, valid for 24 hours:').trim();
    const called = await beside(['tools', 'call', 'shop_listOrders', '--token', '-'], token);
    expect([called.code, called.stdout]).toEqual([0, expect.stringContaining('Analytical engine, brass')]);
  });

  test('shows the address of the demo page first, then the lines to paste', () => {
    const order = [
      `${daemon.url}/demo`,
      'Ask as Ada',
      'Ask without signing in',
      'A token of Ada',
      'sessions list',
      'guard',
    ];
    const found = order.map((text) => printed.indexOf(text));
    expect(found).toEqual([...found].sort((one, other) => one - other));
    expect(found).not.toContain(-1);
  });

  test('lets commands use another daemon if the settings of that daemon are given', async () => {
    const env = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: 's', STATE_DIR: join(folder, 'elsewhere') };
    const { code, stderr } = await command(['sessions', 'show', 'x'], { cwd: folder, env, base: false });
    expect(code).toBe(1);
    expect(stderr).not.toContain('Using the settings');
    expect(stderr).toContain(
      'For the daemon of `serve --dev` in this directory, add --env-file .agentd/env.',
    );
    const production = { cwd: folder, env: { NODE_ENV: 'production', STATE_DIR: folder }, base: false };
    expect((await command(['sessions', 'show', 'x'], production)).stderr).not.toContain('Using the settings');
  });

  test('prints a command that sends a message as a platform would, and gets an answer without any settings', async () => {
    const [heading = '', line = ''] = printed
      .split('\n')
      .slice(printed.split('\n').findIndex((line) => line.startsWith('Write as a platform would')));
    const names = RESERVED_CHANNEL_NAMES.filter((name) => !['webchat', 'sse'].includes(name));
    for (const name of names) expect(heading + line).toContain(name);
    const answered = /^→ .*: Who am I\?\n {2}200 after (?:.|\n)*\n← .*: I do not know who you are/;
    const [, first] = /simulate (\S+) "Who am I\?"$/.exec(line) ?? [];
    const pasted = await run('sh', ['-c', line], { cwd: folder, env: { PATH: process.env.PATH ?? '' } });
    expect(pasted.stdout).toMatch(answered);
    for (const name of names.filter((name) => name !== first)) {
      const simulated = await command(['simulate', name, 'Who am I?'], { cwd: folder, base: false });
      expect(simulated.stdout).toMatch(answered);
    }
  });

  test('relaxes the loop guard: it allows repeated questions, and the output says so', async () => {
    expect(printed).toContain('guard     relaxed for trying it out: the 20th equal message within 60 s');
    for (let n = 0; n < 4; n++)
      expect((await post(daemon.url, { user_id: 'visitor', message: 'Who am I?' })).status).toBe(200);
  });

  test('keeps its state in .agentd in the folder, readable only by its owner', () => {
    expect(statSync(join(folder, '.agentd')).mode & 0o777).toBe(0o700);
    for (const file of ['jwt-secret', 'encryption-key', 'agentd.db'])
      expect(statSync(join(folder, '.agentd', file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, '.agentd', 'agentd.log'), 'utf8')).toContain('agentd is ready');
  });

  test('keeps tokens sealed, and out of the log', () => {
    const token = lineAfter(printed, 'A token of Ada Lovelace, valid for 24 hours:').trim();
    for (const file of ['agentd.db', 'agentd.db-wal', 'agentd.log'])
      expect(readFileSync(join(folder, '.agentd', file), 'latin1')).not.toContain(token.split('.')[2]);
    expect(daemon.stderr()).not.toContain(token.split('.')[1]);
  });

  test('refuses a second daemon in the folder with 69, even with a different state directory, and changes no file', async () => {
    const kept = readFileSync(join(folder, '.agentd/env'), 'utf8');
    for (const own of [{}, { STATE_DIR: join(folder, 'elsewhere') }]) {
      const second = await agentd(['serve', '--dev'], { cwd: folder, env: { ...NOTHING, ...own } });
      expect([second.code, second.stdout]).toEqual([69, '']);
      expect(second.stderr).toBe(
        `agentd: another \`serve --dev\` is running in ${folder}\nStop it, or run this one in another directory.\n`,
      );
    }
    expect(readFileSync(join(folder, '.agentd/env'), 'utf8')).toBe(kept);
  });

  test('uses the same secret and sessions after a second start', async () => {
    const jwt_token = lineAfter(printed, 'A token of Ada Lovelace, valid for 24 hours:').trim();
    const begun = await post(daemon.url, { user_id: 'ada', message: 'Who am I?', jwt_token });
    expect(await daemon.stop()).toBe(0);

    daemon = await serveDev();
    const { session_id } = begun.body;
    // This message has no token: the token of the first run is still in the session, and can still be opened.
    const again = await post(daemon.url, { user_id: 'ada', message: 'Who am I?', session_id });
    expect(again.body.response).toContain('Ada Lovelace');
    const renewed = await post(daemon.url, { user_id: 'ada', message: 'Who am I?', session_id, jwt_token });
    expect(renewed.body.response).toContain('Ada Lovelace');
  });

  test('starts again after kill -9', async () => {
    await daemon.stop('SIGKILL');
    daemon = await serveDev();
    expect(readFileSync(join(folder, '.agentd/env'), 'utf8')).toContain(`PORT='${new URL(daemon.url).port}'`);
  });
});

test('explicit settings take precedence', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'agentd-dev-own-'));
  writeFileSync(
    join(cwd, '.env'),
    `APP_NAME=Concierge\nWEBCHAT_WEBHOOK_PATH=/talk\nJWT_ISSUER=https://site\nJWT_SECRET_KEY=${'own-secret-'.repeat(4)}\n`,
  );
  const daemon = await startAgentd({
    directory: cwd,
    args: ['--dev'],
    env: { ...NOTHING, STATE_DIR: join(cwd, 'elsewhere') },
  });
  const hello = await post(daemon.url, { user_id: 'u', message: 'hello' }, { path: '/talk' });
  expect(hello.body.response).toContain('I am the assistant of Concierge');
  const { response } = await paste(lineAfter(daemon.stdout(), 'Ask as Ada Lovelace:'));
  expect(response).toContain('You are **Ada Lovelace**');
  expect(statSync(join(cwd, 'elsewhere', 'agentd.db')).isFile()).toBe(true);
  // An explicit token key means that somebody is trying out the settings of a real site, so the guard is not relaxed.
  expect(daemon.stdout()).toMatch(/^ {2}guard {5}the 3rd equal message within 60 s is blocked, for 30 s$/m);
  await daemon.stop();
  rmSync(cwd, { recursive: true });
});

describe('an explicit setting of the daemon', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'agentd-dev-agent-'));
  const doctor = async () => {
    const { stdout } = await command(['doctor', '--json'], { cwd, base: false });
    return JSON.parse(stdout) as { check: string; outcome: string; detail: string; advice?: string }[];
  };
  let model: FakeModel;
  let daemon: Agentd;
  beforeAll(async () => {
    model = await FakeModel.start();
    model.key = 'the-key-of-the-model';
    model.models = ['small'];
    const agent = { AGENT_MODEL: 'small', AGENT_BASE_URL: model.url, AGENT_API_KEY: model.key };
    const guard = { LOOP_GUARD_REPEAT_THRESHOLD: '4' };
    daemon = await startAgentd({ directory: cwd, args: ['--dev'], env: { ...NOTHING, ...agent, ...guard } });
  });
  afterAll(async () => {
    await model.close();
    rmSync(cwd, { recursive: true });
  });

  test('is stored for commands in a second terminal, unless it is a secret', async () => {
    const kept = parseEnv(readFileSync(join(cwd, '.agentd/env'), 'utf8'));
    expect(kept).toMatchObject({ AGENT_MODEL: 'small', AGENT_BASE_URL: model.url });
    expect(kept.AGENT_API_KEY).toBeUndefined();
    const found = (await doctor()).find(({ check }) => check === 'model');
    expect(found).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/requires a key \(401.*\), and AGENT_API_KEY is not set here/),
    });
  });

  test('takes precedence over relaxed defaults', () => {
    expect(daemon.stdout()).toMatch(/^ {2}guard {5}the 4th equal message within 60 s is blocked, for 5 s$/m);
  });

  test('lets `agentd doctor` skip the checks of the sample API after the daemon has stopped', async () => {
    expect((await doctor()).filter(({ check }) => /API|credentials/.test(check))).toMatchObject([
      { outcome: 'ok' },
      { outcome: 'ok' },
    ]);
    await daemon.stop();
    expect((await doctor()).filter(({ check }) => /API|credentials/.test(check))).toMatchObject([
      {
        check: 'business API',
        outcome: 'skipped',
        detail: expect.stringContaining('the sample API of `serve --dev`'),
      },
      { check: 'default credentials', outcome: 'skipped' },
    ]);
  });
});

describe('a channel that answers through a platform', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'agentd-dev-platform-'));
  copyFileSync(join(import.meta.dirname, '../fixtures/telex.ts'), join(cwd, 'telex.ts'));
  afterAll(() => rmSync(cwd, { recursive: true }));
  const start = (env: Record<string, string> = {}) =>
    startAgentd({
      directory: cwd,
      args: ['--dev'],
      env: { ...NOTHING, MESSAGING_PLATFORMS: 'webchat,./telex.ts', ...env },
    });
  const kept = () => parseEnv(readFileSync(join(cwd, '.agentd/env'), 'utf8'));

  test('runs with a generated secret and a loopback address for its API, which stay the same from run to run', async () => {
    await (await start()).stop();
    const { TELEX_API_URL, TELEX_SECRET, MESSAGING_PLATFORMS } = kept();
    expect(TELEX_API_URL).toMatch(/^http:\/\/127\.0\.0\.1:[23]\d{4}$/);
    expect(TELEX_SECRET).toMatch(/^[\w-]{43}$/);
    expect(MESSAGING_PLATFORMS).toBe('webchat,./telex.ts');
    const daemon = await start();
    expect(kept()).toMatchObject({ TELEX_API_URL, TELEX_SECRET });
    expect(daemon.stdout()).not.toContain(TELEX_SECRET);
    await daemon.stop();
  });

  test('gets no generated secret or address if its real platform is configured', async () => {
    const TELEX_API_URL = 'https://telex.example.com';
    const daemon = await start({ TELEX_API_URL, TELEX_SECRET: 'of the operator' });
    expect(kept().TELEX_API_URL).toBeUndefined();
    expect(kept().TELEX_SECRET).toBeUndefined();
    await daemon.stop();
  });
});

test.each([
  ['the environment', { NODE_ENV: 'production' }, ''],
  ['the environment, in capitals', { NODE_ENV: 'Production' }, ''],
  ['.env', {}, 'NODE_ENV=production\n'],
])(
  '`serve --dev` is refused with exit code 78 if NODE_ENV=production comes from %s, and creates no files',
  async (_where, env, dotenv) => {
    const cwd = mkdtempSync(join(tmpdir(), 'agentd-dev-production-'));
    if (dotenv !== '') writeFileSync(join(cwd, '.env'), dotenv);
    const { code, stdout, stderr } = await command(['serve', '--dev'], { cwd, env: { ...NOTHING, ...env } });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain('serve --dev is refused if NODE_ENV=production');
    expect(() => statSync(join(cwd, '.agentd'))).toThrow('ENOENT');
    const issue = await command(['token', 'issue', '--sub', 'a', '--email', 'a@example.com'], { cwd, env });
    expect([issue.code, issue.stdout]).toEqual([78, '']);
    expect(issue.stderr).toContain('token issue is refused if NODE_ENV=production');
    rmSync(cwd, { recursive: true });
  },
);
