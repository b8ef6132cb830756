import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { startDaemonHere } from '../support/daemon-here.ts';

// The rules are in agentd-init(1).

let directory: string;
beforeEach(() => {
  directory = mkdtempSync('/tmp/agentd-init-');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const init = (...args: string[]) => command(['init', ...args], { cwd: directory, base: false });

describe('agentd init', () => {
  it('writes a valid configuration, and puts the secrets into a single file that only the owner can read', async () => {
    const origins = 'https://www.example.com,https://shop.example.com';
    const { code, stdout } = await init('--yes', '--name', 'Shop & Co: "1"', '--origins', origins, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ files: [join(directory, 'agentd.yaml'), join(directory, '.env')] });
    expect(statSync(join(directory, '.env')).mode & 0o777).toBe(0o600);
    const secrets = readFileSync(join(directory, '.env'), 'utf8');
    for (const name of ['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN']) {
      const value = new RegExp(`^${name}=(\\S+)$`, 'm').exec(secrets)?.[1] ?? '';
      expect(Buffer.from(value, 'base64')).toHaveLength(32);
      expect(readFileSync(join(directory, 'agentd.yaml'), 'utf8')).not.toContain(value);
    }
    const check = await command(['config', 'check'], { cwd: directory, base: false });
    expect(check).toMatchObject({ code: 0 });
    const shown = await command(['config', 'show', '--json'], { cwd: directory, base: false });
    expect(shown.stdout).toContain('Shop & Co');
  });

  it('lists in comments the secrets that it cannot generate', async () => {
    expect(
      (await init('--yes', '--channels', 'teamchat,msgbot', '--api', 'https://api.example.com')).code,
    ).toBe(0);
    const secrets = readFileSync(join(directory, '.env'), 'utf8');
    for (const name of ['TEAMCHAT_BOT_TOKEN', 'TEAMCHAT_SIGNING_SECRET', 'MSGBOT_BOT_TOKEN', 'API_PASSWORD'])
      expect(secrets).toContain(`\n# ${name}=\n`);
    expect(secrets).toMatch(/^MSGBOT_WEBHOOK_SECRET=\S{40,}$/m);
    expect(secrets).not.toContain('PHONECHAT');
  });

  it('says which values to fill in, and which commands to type next', async () => {
    const asked = [
      '--channels',
      'teamchat',
      '--api',
      'https://api.example.com',
      '--model',
      'm',
      '--server',
      'http://127.0.0.1:1/v1',
    ];
    const words = ['--yes', ...asked, '--directory', join(directory, 'sub')];
    const { stdout } = await init(...words);
    expect(stdout).toContain(
      'Get these values from the platforms, and put them into .env: TEAMCHAT_BOT_TOKEN, TEAMCHAT_',
    );
    expect(stdout).toContain('put them into .env: API_EMAIL, API_PASSWORD, AGENT_API_KEY.');
    const typed = [...stdout.matchAll(/^ {2}(\S.*?)(?: {2,}#.*)?$/gm)].map(([, line]) => line);
    expect(typed).toEqual([
      `cd ${join(directory, 'sub')}`,
      'agentd config check',
      'agentd doctor',
      'agentd serve',
      'man agentd-deploy',
    ]);
  });

  it('names the settings of a channel that only the platform can give, also those that are not secret', async () => {
    const { stdout } = await init('--yes', '--channels', 'phonechat');
    expect(stdout).toContain('into .env: PHONECHAT_ACCESS_TOKEN, PHONECHAT_APP_SECRET.\n');
    expect(stdout).toContain(' and set them in agentd.yaml: PHONECHAT_PHONE_NUMBER_ID.\n');
    expect((await init('--yes', '--channels', 'teamchat', '--directory', 'other')).stdout).not.toContain(
      'in agentd.yaml:',
    );
  });

  it('with --secret-files, writes each secret to a separate file, which the daemon finds', async () => {
    const { stdout } = await init('--yes', '--secret-files', '--channels', 'webchat,msgbot');
    expect(stdout).toContain(
      `each into a file of the same name in ${join(directory, 'secrets')}: MSGBOT_BOT_TOKEN`,
    );
    const folder = join(directory, 'secrets');
    expect(readdirSync(directory).sort()).toEqual(['agentd.yaml', 'secrets']);
    const names = ['ADMIN_TOKEN', 'JWT_SECRET_KEY', 'MSGBOT_WEBHOOK_SECRET', 'TOKEN_ENCRYPTION_KEY'];
    expect(readdirSync(folder).sort()).toEqual(names);
    const modes = [folder, ...names.map((name) => join(folder, name))].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600, 0o600]);
    const before = await command(['config', 'check'], { cwd: directory, base: false });
    expect([before.code, before.stderr]).toEqual([78, expect.stringContaining('MSGBOT_BOT_TOKEN_FILE')]);
    writeFileSync(join(folder, 'MSGBOT_BOT_TOKEN'), '123456:abc\n');
    expect(await command(['config', 'check'], { cwd: directory, base: false })).toMatchObject({ code: 0 });
    const shown = await command(['config', 'show', '--json'], { cwd: directory, base: false });
    expect(shown.stdout).toContain('MSGBOT_BOT_TOKEN');
  });

  it('with --systemd, writes systemd units that have a credential for each secret', async () => {
    const words = ['--yes', '--systemd', '--channels', 'sse,msgbot', '--api', 'https://api.example.com'];
    const { stdout, stderr } = await init(...words, '--directory', directory);
    expect(stderr).toMatch(
      /^warning: the service cannot read \/tmp\/\S+, since its units have PrivateTmp=yes/,
    );
    const units = ['agentd-backup.service', 'agentd-backup.timer', 'agentd.service'];
    expect(readdirSync(directory).sort()).toEqual([...units, 'agentd.yaml', 'secrets'].sort());
    const unit = readFileSync(join(directory, 'agentd.service'), 'utf8');
    const secrets = ['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN', 'MSGBOT_WEBHOOK_SECRET'];
    expect(unit.match(/^LoadCredential=.*/gm)).toEqual(
      [...secrets, 'MSGBOT_BOT_TOKEN'].map((name) => `LoadCredential=${name}:${directory}/secrets/${name}`),
    );
    expect(unit.match(/^Environment=\w+_FILE=.*/gm)).toEqual(
      [...secrets, 'MSGBOT_BOT_TOKEN'].map((name) => `Environment=${name}_FILE=%d/${name}`),
    );
    expect(unit).toContain(`\nExecStart=agentd serve --config ${directory}/agentd.yaml\n`);
    expect(readFileSync(join(directory, 'agentd-backup.service'), 'utf8')).toContain(
      `--config ${directory}/agentd.yaml`,
    );
    expect(readFileSync(join(directory, 'agentd.yaml'), 'utf8')).toMatch(/^STATE_DIR: \/var\/lib\/agentd$/m);
    for (const line of [
      'useradd --system',
      'agentd doctor --config',
      'systemctl enable --now agentd.service',
    ])
      expect(stdout).toContain(`\n  ${line}`);
    expect(stdout).toContain(
      `same name in ${directory}/secrets: API_PASSWORD. Add the path of the file to agentd.yaml (API_PASSWORD_FILE: secrets/API_PASSWORD), and two lines to agentd.service, like those of JWT_SECRET_KEY. Set API_EMAIL in agentd.yaml.`,
    );
  });

  it('changes no existing file, and writes nothing if one of its files already exists', async () => {
    writeFileSync(join(directory, '.env'), 'JWT_SECRET_KEY=mine\n');
    const { code, stderr } = await init('--yes');
    expect(code).toBe(1);
    expect(stderr).toMatch(/\.env exists; nothing was written/);
    expect(readdirSync(directory)).toEqual(['.env']);
    expect(readFileSync(join(directory, '.env'), 'utf8')).toBe('JWT_SECRET_KEY=mine\n');
    writeFileSync(join(directory, 'agentd.service'), 'mine');
    expect((await init('--yes', '--systemd', '--directory', directory)).code).toBe(1);
    expect(readdirSync(directory).sort()).toEqual(['.env', 'agentd.service']);
  });

  it('looks for a configuration before it reads any answer', async () => {
    writeFileSync(join(directory, 'agentd.yaml'), 'mine');
    const { code, stderr } = await init('--yes', '--channels', 'telex');
    expect([code, stderr]).toEqual([1, expect.stringContaining('agentd.yaml exists; nothing was written')]);
  });

  it('refuses a channel that does not exist, and writes nothing', async () => {
    const { code, stderr } = await init('--yes', '--channels', 'webchat,telex');
    expect(code).toBe(2);
    expect(stderr).toContain("there is no channel 'telex'");
    expect(readdirSync(directory)).toEqual([]);
  });

  it('writes everything that the daemon needs to start', async () => {
    await init('--yes', '--channels', 'webchat');
    const daemon = await startDaemonHere({ directory, env: { ADMIN_LISTEN: '127.0.0.1:0' } });
    expect((await fetch(daemon.url)).status).toBe(200);
    await daemon.stop();
  });
});
