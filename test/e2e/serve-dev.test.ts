import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { RESERVED_CHANNEL_NAMES } from '../../plugins/names.ts';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeModel } from '../support/fake-model.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
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
const folder = join(temporaryFolder('dev'), "an empty folder of Ada's");
mkdirSync(folder);

const serveDev = () => startAgentd({ directory: folder, args: ['--dev'], env: NOTHING });

/** The printed line after the heading. */
function lineAfter(printed: string, heading: string, after = 1): string {
  const lines = printed.split('\n');
  const at = lines.indexOf(heading);
  expect(at, `${heading} in\n${printed}`).not.toBe(-1);
  return lines[at + after] ?? '';
}

const HEADING = 'A token of Ada Lovelace for 24 hours, also for `/sign-in` in the chat:';

/** The printed token of Ada. Its line sets a variable for the command after it. */
function printedToken(printed: string): string {
  return lineAfter(printed, HEADING)
    .trim()
    .replace(/^TOKEN=/, '');
}

/** Runs printed lines as a person would paste them. */
async function paste(lines: string): Promise<{ response: string; session_id: string; metadata: unknown }> {
  const { stdout } = await run('sh', ['-c', lines], { cwd: tmpdir() });
  return JSON.parse(stdout);
}

describe('serve --dev in an empty folder', () => {
  let daemon: Agentd;
  let printed: string;
  beforeAll(async () => {
    daemon = await serveDev();
    printed = daemon.stdout();
  });

  test('prints a curl command that gets the data of the person in its token', async () => {
    const { response, session_id, metadata } = await paste(
      [lineAfter(printed, HEADING), lineAfter(printed, HEADING, 2)].join('\n'),
    );
    expect(response).toContain('You are **Ada Lovelace** (ada@example.com).');
    expect(response).toContain('Analytical engine, brass');
    expect(session_id).toMatch(/^webchat_ada_[\w-]{22,}$/);
    expect(metadata).toEqual({ platform: 'webchat', user_id: 'ada', message_id: expect.any(String) });
  });

  test('shows no data of other people: Ada gets no data about Grace', async () => {
    const jwt_token = printedToken(printed);
    const { body } = await post(daemon.url, { user_id: 'x', message: 'grace@example.com', jwt_token });
    expect(body.response).not.toMatch(/Hopper|Compiler/);
  });

  test('prints the address of the shop first, the token last, and no more than a small window shows', () => {
    const lines = printed.split('\n');
    expect(lines[0]).toBe(`Open in a browser: ${daemon.url}/demo`);
    expect(lines.indexOf(HEADING)).toBe(lines.length - 5);
    const rows = lines.map((line) => Math.max(1, Math.ceil(line.length / 80)));
    expect(rows.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(24);
  });

  test('prints commands for a second terminal, which get the same settings', async () => {
    const printedLine = lineAfter(
      printed,
      'Commands for a second terminal in this directory (Ctrl-C stops this one):',
    );
    const [line = ''] = / chat(?= )/.exec(printedLine) === null ? [] : printedLine.split(/ +# /);
    expect(line).toMatch(/ chat$/);
    const env = { PATH: process.env.PATH ?? '' };
    const listing = line.replace(/ chat$/, ' sessions list --json');
    const list = await run('sh', ['-c', listing], { cwd: folder, env });
    const sessions = JSON.parse(list.stdout) as { user_id: string }[];
    expect(sessions.map(({ user_id }) => user_id)).toContain('ada');
    expect(list.stderr).toBe('Using the settings of `serve --dev` in .agentd/env.\n');
    const status = await run('sh', ['-c', line.replace(/ chat$/, ' status')], { cwd: folder, env });
    expect(status.stdout).toContain(`agentd at ${daemon.url} is ok`);
  });

  test('prints a command that sends a message as a platform would, and gets an answer without any settings', async () => {
    const line = printed.split('\n').find((one) => one.includes(' simulate ')) ?? '';
    const names = RESERVED_CHANNEL_NAMES.filter((name) => !['webchat', 'sse'].includes(name));
    for (const name of names) expect(line).toContain(name);
    const answered = /^→ .*: Who am I\?\n {2}200 after (?:.|\n)*\n← .*: I don’t know who you are/;
    const [, first] = / simulate (\S+) 'Who am I\?'/.exec(line) ?? [];
    const pasted = await run('sh', ['-c', line], { cwd: folder, env: { PATH: process.env.PATH ?? '' } });
    expect(pasted.stdout).toMatch(answered);
    for (const name of names.filter((name) => name !== first)) {
      const simulated = await command(['simulate', name, 'Who am I?'], { cwd: folder, base: false });
      expect(simulated.stdout).toMatch(answered);
    }
  });

  test('relaxes the loop guard: it allows repeated questions, and the output says so', async () => {
    expect(printed).toContain(
      '  guard     relaxed: blocks a sender for 5 s after 20 identical messages in 60 s\n',
    );
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
    const token = printedToken(printed);
    for (const file of ['agentd.db', 'agentd.db-wal', 'agentd.log'])
      expect(readFileSync(join(folder, '.agentd', file), 'latin1')).not.toContain(token.split('.')[2]);
    expect(daemon.stderr()).not.toContain(token.split('.')[1]);
  });

  test('refuses a second daemon in the folder with 69, even with a different state directory, and changes no file', async () => {
    const kept = readFileSync(join(folder, '.agentd/env'), 'utf8');
    for (const own of [{}, { STATE_DIR: join(folder, 'elsewhere') }]) {
      const second = await command(['serve', '--dev'], { cwd: folder, env: { ...NOTHING, ...own } });
      expect([second.code, second.stdout]).toEqual([69, '']);
      expect(second.stderr).toBe(
        `agentd: another \`serve --dev\` is running in ${folder}\nStop it, or run this one in another directory.\n`,
      );
    }
    expect(readFileSync(join(folder, '.agentd/env'), 'utf8')).toBe(kept);
  });

  test('uses the same secret and sessions after a second start', async () => {
    const jwt_token = printedToken(printed);
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
});

describe('an explicit setting of the daemon', () => {
  const cwd = temporaryFolder('dev-agent');
  const doctor = async () => {
    const { stdout } = await command(['doctor', '--json'], { cwd, base: false });
    return JSON.parse(stdout) as { check: string; outcome: string; detail: string; advice?: string }[];
  };
  let model: FakeModel;
  let daemon: DaemonHere;
  beforeAll(async () => {
    model = await FakeModel.start();
    model.key = 'the-key-of-the-model';
    model.models = ['small'];
    const agent = { AGENT_MODEL: 'small', AGENT_BASE_URL: model.url, AGENT_API_KEY: model.key };
    const guard = { LOOP_GUARD_REPEAT_THRESHOLD: '4' };
    daemon = await startDaemonHere({ directory: cwd, dev: true, env: { ...NOTHING, ...agent, ...guard } });
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
    expect(daemon.stdout()).toMatch(
      /^ {2}guard {5}blocks a sender for 5 s after 4 identical messages in 60 s$/m,
    );
  });
});

test.each([
  ['the environment', { NODE_ENV: 'production' }, ''],
  ['the environment, in capitals', { NODE_ENV: 'Production' }, ''],
  ['.env', {}, 'NODE_ENV=production\n'],
])(
  '`serve --dev` is refused with exit code 78 if NODE_ENV=production comes from %s, and creates no files',
  async (_where, env, dotenv) => {
    const cwd = temporaryFolder('dev-production');
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

test('serve --dev with a JWT_ALGORITHM of your own prints commands that still find its settings', async () => {
  const cwd = temporaryFolder('dev-own');
  writeFileSync(join(cwd, 'agentd.yaml'), 'JWT_ALGORITHM: HS256\n');
  const daemon = await startDaemonHere({ directory: cwd, dev: true, env: NOTHING });
  const [, given = ''] = / chat( .*?)? +# talk to it$/m.exec(daemon.stdout()) ?? [];
  const words = given.split(' ').filter((word) => word !== '');
  const { stdout } = await command(['status', '--json', ...words], { cwd, base: false });
  expect(JSON.parse(stdout)).toMatchObject({ status: 'ok' });
  const listed = await command(['sessions', 'list', '--json', ...words], { cwd, base: false });
  expect(listed).toMatchObject({ code: 0, stdout: '[]\n' });
});
