import { cpSync } from 'node:fs';
import { chmod, open, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { command } from '../support/command.ts';
import { SECRET } from '../support/daemon.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { FakeApi } from '../support/fake-api.ts';
import { FakeModel } from '../support/fake-model.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PASSWORD = 'the-password-of-the-service';
const KEY = 'the-key-of-the-model-server';
const SEALING = Buffer.alloc(32, 7).toString('base64');

let api: FakeApi;
let model: FakeModel;
let platforms: FakePlatform[];
beforeAll(async () => {
  api = await FakeApi.start({ secret: SECRET, password: PASSWORD });
  model = await FakeModel.start();
  model.key = KEY;
  model.models = ['small', 'large'];
  platforms = await Promise.all([teamchat, phonechat, msgbot].map((plugin) => FakePlatform.start(plugin)));
});
let directory: string;
beforeEach(async () => {
  directory = temporaryFolder('doctor');
});
afterEach(async () => {
  api.behave();
  for (const platform of platforms) {
    platform.answer = () => null;
    platform.calls.length = 0;
  }
});

/** Settings without problems. */
function env(): Record<string, string> {
  return {
    ...Object.assign({}, ...platforms.map((platform) => platform.env)),
    ...api.env,
    AGENT_BASE_URL: model.url,
    AGENT_MODEL: 'small',
    AGENT_API_KEY: KEY,
    TOKEN_ENCRYPTION_KEY: SEALING,
    NODE_ENV: 'production',
  };
}

async function doctor(changes: Record<string, string> = {}) {
  const settings = { ...env(), ...changes };
  const { code, stdout, stderr } = await command(['doctor', '--json'], { cwd: directory, env: settings });
  expect(stderr).toBe('');
  const findings = JSON.parse(stdout) as Finding[];
  const secrets = [PASSWORD, KEY, SEALING, SECRET, settings.JWT_SECRET_KEY ?? SECRET].concat(
    Object.entries(settings).flatMap(([name, value]) => (/TOKEN|SECRET/.test(name) ? [value] : [])),
  );
  for (const secret of secrets.filter((value) => value !== '' && value !== 'off'))
    expect(stdout).not.toContain(secret);
  return { code, findings, of: (check: string) => findings.filter((finding) => finding.check === check) };
}

/** The directory of a daemon that has stopped. */
let stopped: string;
beforeAll(async () => {
  stopped = temporaryFolder('doctor-stopped');
  await (await startDaemonHere({ directory: stopped })).stop();
});

/** Makes the state directory of a daemon that has stopped. */
function stateOfStopped(): string {
  const state = join(directory, 'state');
  cpSync(join(stopped, 'state'), state, { recursive: true });
  return state;
}

describe('agentd doctor', () => {
  it('finds no problem while a daemon runs', async () => {
    const daemon = await startDaemonHere({ directory, env: { TOKEN_ENCRYPTION_KEY: SEALING } });
    const { code, findings } = await doctor();
    await daemon.stop();
    expect(findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([
      {
        check: 'channel webchat',
        outcome: 'skipped',
        detail: expect.stringContaining('nothing was checked'),
      },
    ]);
    expect(code).toBe(0);
    expect(findings.map(({ check, detail }) => `${check}: ${detail}`)).toEqual([
      'configuration: valid; channels: msgbot, phonechat, teamchat, webchat',
      'secrets: JWT_SECRET_KEY is long enough for HS256',
      expect.stringMatching(/^state directory: .*\/state is private, its disk has \d+ [MG]iB left$/),
      expect.stringMatching(/^store: sqlite .*\/agentd\.db is intact and can be written$/),
      'sealing: stored tokens are sealed with the key in TOKEN_ENCRYPTION_KEY',
      expect.stringMatching(/^business API: http:\/\/127\.0\.0\.1:\d+ answers$/),
      'default credentials: the API issued a token to service@example.com',
      'memory: long-term memory is in the store',
      expect.stringMatching(/^model: 127\.0\.0\.1:\d+ answers, and has small$/),
      expect.stringMatching(/^channel msgbot: the platform knows the bot @\w+$/),
      'registration msgbot: the platform delivers to https://simulate.invalid/webhook/msgbot, 0 updates wait',
      expect.stringMatching(/^channel phonechat: the platform knows \+1 555/),
      'registration phonechat: the platform delivers for the number',
      expect.stringMatching(/^channel teamchat: the platform knows the bot \S+ of the workspace Simulate$/),
      'registration teamchat: the bot token has all scopes that agentd needs',
      expect.stringContaining('channel webchat'),
      expect.stringMatching(/^clock: same as .*the business API/),
    ]);
  });

  it('needs no daemon and no state directory, and skips checks of missing settings', async () => {
    const { code, stdout } = await command(['doctor'], { cwd: directory });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok +configuration +valid; channels: webchat$/m);
    expect(stdout).toMatch(/^skipped +state directory +.*does not exist yet: the first start creates it$/m);
    expect(stdout).toMatch(/^skipped +store +There is no store at .* yet/m);
    expect(stdout).toMatch(/^skipped +sealing +there is no key yet: the first start creates a key/m);
    expect(stdout).toMatch(/^skipped +business API +API_BASE_URL is not set/m);
    expect(stdout).toMatch(/^skipped +model +there is no model server to ask: the runtime is builtin/m);
    expect(stdout).toMatch(/^skipped +clock +/m);
    expect(stdout.slice(stdout.indexOf('skipped'))).not.toMatch(/^ok/m);
  });

  it('lists all problems of the configuration, and skips the other checks', async () => {
    const changes = {
      PORT: '99999',
      JWT_VERIFY_EXP: 'false',
      TEAMCHAT_SIGNING_SECRET: '',
      MESSAGING_PLATFORMS: 'teamchat',
      WEBCHAT_ENABLED: '',
    };
    const { code, of, findings } = await doctor(changes);
    expect(code).toBe(78);
    const { stdout, stderr } = await command(['doctor'], { cwd: directory, env: { ...env(), ...changes } });
    expect(stderr).toMatch(/^Fix these settings\. /);
    expect(stdout).toMatch(
      /^(failed .*\n +→ Right: .*\n){3}skipped +10 checks .*, clock: the configuration is wrong\n$/,
    );
    expect(of('configuration').map(({ outcome, detail }) => [outcome, detail.split(' ')[0]])).toEqual([
      ['failed', 'PORT=99999'],
      ['failed', 'JWT_VERIFY_EXP=false'],
      ['failed', 'TEAMCHAT_SIGNING_SECRET'],
    ]);
    expect(of('configuration')[0]?.advice).toContain('Right: a whole number');
    const rest = findings.filter(({ check }) => check !== 'configuration');
    expect(new Set(rest.map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
    expect(platforms.flatMap((platform) => platform.calls)).toEqual([]);
  });

  it('warns about weak secrets and unsealed tokens', async () => {
    const { code, of } = await doctor({
      JWT_SECRET_KEY: 'of 128 bits only',
      TOKEN_ENCRYPTION_KEY: 'off',
    });
    expect(code).toBe(0);
    expect(of('secrets')).toMatchObject([
      { outcome: 'warning', detail: expect.stringMatching(/^JWT_SECRET_KEY has 128 bits/) },
    ]);
    expect(of('sealing')).toMatchObject([
      { outcome: 'warning', detail: expect.stringMatching(/^TOKEN_ENCRYPTION_KEY=off: /) },
    ]);
    expect(of('configuration')).toMatchObject([{ outcome: 'ok' }]);
    const { stdout } = await command(['doctor'], { cwd: directory, env: { TOKEN_ENCRYPTION_KEY: 'off' } });
    expect(stdout).toMatch(/^warning +sealing /);
  });

  it('says what to do about refused credentials', async () => {
    const { code, of } = await doctor({
      API_PASSWORD: 'another password',
      AGENT_API_KEY: 'another key',
      TEAMCHAT_BOT_TOKEN: 'xoxb-another-token',
      MSGBOT_BOT_TOKEN: '1:another-token-of-a-bot',
      PHONECHAT_ACCESS_TOKEN: 'another-access-token',
    });
    expect(code).toBe(1);
    expect(of('business API')).toMatchObject([{ outcome: 'ok' }]);
    expect(of('default credentials')).toMatchObject([
      { outcome: 'failed', advice: expect.stringContaining('Set both') },
    ]);
    expect(of('model')).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('refuses the key (401: No such key: [key])') },
    ]);
    for (const channel of ['teamchat', 'msgbot', 'phonechat'])
      expect(of(`channel ${channel}`)).toMatchObject([
        { outcome: 'failed', detail: expect.stringContaining('refuses') },
      ]);
  });

  it('reports servers that are unreachable or fail', async () => {
    const closed = await FakeModel.start();
    const nowhere = new URL(closed.url).origin;
    await closed.close();
    for (const platform of platforms) platform.answer = () => ({ status: 503 });
    api.misbehave('/', { status: 502 });
    const { code, of } = await doctor({
      AGENT_BASE_URL: `${nowhere}/v1`,
      MSGBOT_API_URL: nowhere,
    });
    expect(code).toBe(1);
    expect(of('business API')).toMatchObject([
      { outcome: 'failed', detail: expect.stringMatching(/answers 502$/) },
    ]);
    expect(of('model')).toMatchObject([
      { outcome: 'failed', detail: expect.stringMatching(/: it cannot be reached: ECONNREFUSED$/) },
    ]);
    expect(of('channel teamchat')).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('503') },
    ]);
    expect(of('channel msgbot')).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('ECONNREFUSED') },
    ]);
  });

  it('outside production, skips the check of a platform if its simulated API is not running', async () => {
    const closed = await FakeModel.start();
    const MSGBOT_API_URL = new URL(closed.url).origin;
    await closed.close();
    const { code, of } = await doctor({ NODE_ENV: 'development', MSGBOT_API_URL });
    expect(code).toBe(0);
    expect(of('channel msgbot')).toMatchObject([
      { outcome: 'skipped', detail: expect.stringContaining('only while `agentd simulate` runs') },
    ]);
    expect(of('channel teamchat')).toMatchObject([{ outcome: 'ok' }]);
    const refused = await doctor({ NODE_ENV: 'development', TEAMCHAT_BOT_TOKEN: 'xoxb-another-token' });
    expect(refused.of('channel teamchat')).toMatchObject([{ outcome: 'failed' }]);
  });

  it('lists the models of the server if the configured model is not one of them', async () => {
    const { code, of } = await doctor({ AGENT_MODEL: 'huge' });
    expect(code).toBe(0);
    expect(of('model')).toMatchObject([
      { outcome: 'warning', advice: 'Set AGENT_MODEL to one of its models: small, large.' },
    ]);
  });

  it('warns if the clock of another server differs by more than a minute', async () => {
    api.misbehave('/', { status: 200, headers: { Date: new Date(Date.now() - 300_000).toUTCString() } });
    const { code, of } = await doctor();
    expect(code).toBe(0);
    expect(of('clock')).toMatchObject([
      {
        outcome: 'warning',
        detail: expect.stringMatching(/^30\d seconds ahead of the business API$/),
      },
    ]);
  });

  it('warns about a state directory that other users can access', async () => {
    const state = stateOfStopped();
    await chmod(state, 0o755);
    const { of } = await doctor();
    expect(of('state directory')).toEqual([
      {
        check: 'state directory',
        outcome: 'warning',
        detail: `other users of this machine can access ${state} (mode 0755)`,
        advice: `chmod 700 ${state}`,
      },
    ]);
  });

  it('finds a damaged store', async () => {
    const path = join(stateOfStopped(), 'agentd.db');
    const file = await open(path, 'r+');
    const { size } = await stat(path);
    // Keep the first page, which has the schema, and overwrite all others.
    for (let at = 4096; at < size; at += 4096) await file.write(Buffer.alloc(4096, 0xaa), 0, 4096, at);
    await file.close();
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of('store')[0]).toMatchObject({
      outcome: 'failed',
      advice: expect.stringContaining('the last good backup'),
    });
  });

  it('finds a store of another layout, and a file that is not a store', async () => {
    const path = join(stateOfStopped(), 'agentd.db');
    const db = new Database(path);
    db.exec('DROP TABLE items');
    db.close();
    const later = await doctor();
    expect(later.code).toBe(1);
    expect(later.of('store')).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('its layout differs (table items)') },
    ]);
    await writeFile(path, 'nothing of that kind');
    expect((await doctor()).of('store')).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('damaged') },
    ]);
  });

  it('reports the failure of a third-party channel without its secrets', async () => {
    await writeFile(
      join(directory, 'telex.mjs'),
      `export default {
        name: 'telex', apiVersion: 1, summary: 'People with a telex.',
        settings: [{ name: 'TELEX_SECRET', kind: 'string', secret: true, sentence: 'It.' }],
        detect: () => true,
        delivery: 'response', capabilities: { textLimit: null, markdown: 'none', typing: false },
        create: (scope) => ({ routes: [], check: async () => { throw new Error('not ' + scope.settings.TELEX_SECRET.reveal()); } }),
      };`,
    );
    const { code, of } = await doctor({
      MESSAGING_PLATFORMS: './telex.mjs',
      TELEX_SECRET: 'what nobody may know',
    });
    expect(code).toBe(1);
    expect(of('channel telex')).toMatchObject([
      {
        outcome: 'failed',
        detail: 'it could not be queried: not [secret]',
        advice: expect.stringContaining('defect'),
      },
    ]);
  });
});
