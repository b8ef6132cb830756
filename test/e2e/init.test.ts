import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { startAgentd } from '../support/daemon.ts';

// agentd-init(1).

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-init-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const init = (...args: string[]) => command(['init', ...args], { cwd: directory, base: false });

describe('agentd init', () => {
  it('writes a configuration that is valid, with secrets that only their owner reads and no file repeats', async () => {
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

  it('asks for what only a platform can give, in comments', async () => {
    expect(
      (await init('--yes', '--channels', 'teamchat,msgbot', '--api', 'https://api.example.com')).code,
    ).toBe(0);
    const secrets = readFileSync(join(directory, '.env'), 'utf8');
    for (const name of ['TEAMCHAT_BOT_TOKEN', 'TEAMCHAT_SIGNING_SECRET', 'MSGBOT_BOT_TOKEN', 'API_PASSWORD'])
      expect(secrets).toContain(`\n# ${name}=\n`);
    expect(secrets).toMatch(/^MSGBOT_WEBHOOK_SECRET=\S{40,}$/m);
    expect(secrets).not.toContain('PHONECHAT');
  });

  it('changes no file that exists, and writes nothing then', async () => {
    writeFileSync(join(directory, '.env'), 'JWT_SECRET_KEY=mine\n');
    const { code, stderr } = await init('--yes');
    expect(code).toBe(1);
    expect(stderr).toMatch(/\.env exists; nothing was written/);
    expect(readdirSync(directory)).toEqual(['.env']);
    expect(readFileSync(join(directory, '.env'), 'utf8')).toBe('JWT_SECRET_KEY=mine\n');
  });

  it('refuses a channel that does not exist, and names those that do', async () => {
    const { code, stderr } = await init('--yes', '--channels', 'webchat,telex');
    expect(code).toBe(2);
    expect(stderr).toContain("there is no channel 'telex'");
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is enough to run the daemon', async () => {
    await init('--yes', '--channels', 'webchat');
    const daemon = await startAgentd({ directory, env: { ADMIN_LISTEN: '127.0.0.1:0' } });
    expect((await fetch(daemon.url)).status).toBe(200);
    await daemon.stop();
  });
});
