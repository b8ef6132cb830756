import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ChannelView } from '../../src/cli/commands/channels-list.ts';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PAGER = `export default {
  name: 'pager', apiVersion: 1, summary: 'People with a pager.',
  settings: [
    { name: 'PAGER_KEY', kind: 'string', required: true, secret: true, sentence: 'The key.' },
    { name: 'PAGER_URL', kind: 'url', sentence: 'The office.' },
  ],
  detect: (settings) => settings.PAGER_KEY !== undefined,
  delivery: 'push', capabilities: { textLimit: null, markdown: 'none', typing: false },
  create: () => ({
    routes: [], send: async () => {},
    health: () => ({ status: 'degraded', detail: 'the office is closed' }),
  }),
};`;
const PLATFORMS = { MESSAGING_PLATFORMS: 'webchat,sse,pager', PAGER_KEY: 'a key that nobody sees' };

let directory: string;
let daemon: DaemonHere;
beforeAll(async () => {
  directory = temporaryFolder('channels');
  await writeFile(join(directory, 'pager.mjs'), PAGER);
  await writeFile(join(directory, 'broken.mjs'), 'throw new Error("no line");');
  await writeFile(join(directory, 'agentd.yaml'), 'plugins:\n  - ./pager.mjs\n');
  daemon = await startDaemonHere({ directory, env: PLATFORMS });
});

async function list(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await command(['channels', 'list', '--json', ...args], {
    cwd: directory,
    env,
  });
  const views = JSON.parse(stdout) as ChannelView[];
  return { code, stdout, stderr, views, of: (name: string) => views.find((view) => view.name === name) };
}

describe('agentd channels list', () => {
  it('shows for each channel its summary, its origin and its state', async () => {
    const { code, stdout, stderr, of } = await list(PLATFORMS, '--url', daemon.url);
    expect([code, stderr]).toEqual([0, '']);
    expect(of('pager')).toEqual({
      name: 'pager',
      summary: 'People with a pager.',
      from: './pager.mjs',
      active: true,
      why: 'named in MESSAGING_PLATFORMS (environment)',
      missing: [],
      answers: 'later',
      state: 'degraded',
      detail: 'the office is closed',
      settings: [
        { name: 'PAGER_KEY', value: '[secret]', source: 'environment', secret: true },
        { name: 'PAGER_URL', value: null, source: 'unset', secret: false },
      ],
      problems: [],
    });
    expect(of('webchat')).toMatchObject({
      from: 'bundled',
      active: true,
      state: 'ok',
      answers: 'in the request',
    });
    expect(of('sse')).toMatchObject({ active: true, state: 'ok', detail: null, answers: 'on a stream' });
    expect(of('teamchat')).toMatchObject({ active: false, state: 'off', answers: 'later' });
    expect(of('teamchat')?.why).toBe('not named in MESSAGING_PLATFORMS (environment)');
    expect(stdout).not.toContain(PLATFORMS.PAGER_KEY);
  });

  it('prints a table, and each channel with its settings', async () => {
    const args = ['channels', 'list', '--url', daemon.url];
    const { code, stdout } = await command(args, { cwd: directory, env: PLATFORMS });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^CHANNEL +ACTIVE +STATE +ANSWERS +FROM +WHY$/m);
    expect(stdout).toMatch(/^pager +yes +degraded +later +\.\/pager\.mjs +named in MESSAGING_PLATFORMS/m);
    expect(stdout).toContain('\npager: People with a pager.\n  degraded: the office is closed\n  SETTING ');
    expect(stdout).toMatch(/^ {2}PAGER_KEY +\[secret\] +environment$/m);
    expect(stdout).toMatch(/^ {2}WEBCHAT_WEBHOOK_PATH +\/webchat\/message +default$/m);
  });

  it('shows which settings inactive channels lack, even without a daemon', async () => {
    const { code, stderr, of } = await list({ TEAMCHAT_BOT_TOKEN: 'xoxb-1', PORT: '1' });
    expect(code).toBe(0);
    expect(stderr).toContain('The state is unknown: cannot reach the daemon at 127.0.0.1:1');
    expect(of('webchat')).toMatchObject({
      active: true,
      why: 'detected by its settings',
      state: 'daemon not running',
    });
    expect(of('sse')).toMatchObject({ active: false, why: 'its settings do not turn it on', missing: [] });
    expect(of('pager')).toMatchObject({ active: false, why: 'PAGER_KEY is not set', missing: ['PAGER_KEY'] });
    expect(of('teamchat')).toMatchObject({ active: false, missing: ['TEAMCHAT_SIGNING_SECRET'] });
  });

  it('lists plugins that do not load, with their problems', async () => {
    const env = { MESSAGING_PLATFORMS: 'webchat,./broken.mjs,./nowhere.mjs,pagr,pager', PAGER_URL: 'closed' };
    const { code, views, of } = await list(env, '--url', daemon.url);
    expect(code).toBe(78);
    const broken = views.filter(({ name }) => name === null);
    expect(broken.map(({ from, problems }) => [from, problems[0]?.problem])).toEqual([
      ['./broken.mjs', `cannot be loaded: no line (at ${join(directory, 'broken.mjs')}:1)`],
      ['./nowhere.mjs', `names a file that does not exist: ${join(directory, 'nowhere.mjs')}`],
      ['pagr', 'there is no channel of this name'],
    ]);
    expect(of('webchat')).toMatchObject({ active: true, state: 'ok', problems: [] });
    expect(of('pager')).toMatchObject({ active: false, missing: ['PAGER_KEY'] });
    expect(of('pager')?.why).toContain('but PAGER_KEY is not set: the daemon does not start');
    expect(
      of('pager')
        ?.problems.map(({ setting }) => setting)
        .sort(),
    ).toEqual(['PAGER_KEY', 'PAGER_URL']);
    const { code: again, stdout } = await command(['channels', 'list'], { cwd: directory, env });
    expect(again).toBe(78);
    expect(stdout).toContain(
      `\n./broken.mjs (MESSAGING_PLATFORMS)\n  wrong: cannot be loaded: no line (at ${join(directory, 'broken.mjs')}:1)\n  right: `,
    );
  });

  it('names channels that run in the daemon but are not in the settings of the command', async () => {
    await writeFile(join(directory, 'other.yaml'), '{}');
    const { code, stderr } = await list({}, '--url', daemon.url, '--config', 'other.yaml');
    expect([code, stderr]).toEqual([0, 'The daemon runs channels that these settings do not name: pager.\n']);
  });

  it('refuses an invalid address', async () => {
    const { code, stderr } = await command(['channels', 'list', '--url', 'nowhere'], { cwd: directory });
    expect(code).toBe(2);
    expect(stderr).toContain('--url takes an address');
  });
});
