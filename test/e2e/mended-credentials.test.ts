import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import { command } from '../support/command.ts';
import { startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { FakePlatform } from '../support/fake-platform.ts';

// If the platform refuses a reply because the channel's own token is wrong, the reply waits until the token is
// replaced.

const CASES = [
  { plugin: teamchat, setting: 'TEAMCHAT_BOT_TOKEN', wrong: 'xoxb-revoked', reason: 'invalid_auth' },
  { plugin: phonechat, setting: 'PHONECHAT_ACCESS_TOKEN', wrong: 'revoked', reason: 'status 401, code 190' },
  { plugin: msgbot, setting: 'MSGBOT_BOT_TOKEN', wrong: '5550100:revoked', reason: 'Unauthorized' },
];

it('teamchat, phonechat, msgbot: replies wait while the token is refused, and are sent when it is replaced', async () => {
  const dictation = await Dictation.start();
  const cases = await Promise.all(
    CASES.map(async (each) => ({ ...each, platform: await FakePlatform.start(each.plugin) })),
  );
  const directory = mkdtempSync(join(tmpdir(), 'agentd-mended-'));
  onTestFinished(async () => {
    rmSync(directory, { recursive: true, force: true });
    for (const { platform } of cases) await platform.close();
    await dictation.close();
  });
  const start = async (env: Record<string, string> = {}) => {
    const right = Object.assign({}, dictation.env, ...cases.map(({ platform }) => platform.env));
    const daemon = await startAgentd({ directory, env: { ...right, ...env } });
    onTestFinished(async () => void (await daemon.stop('SIGKILL')));
    return daemon;
  };
  const inbox = async (...args: string[]) => {
    const { stdout } = await command(['inbox', ...args, '--json'], { cwd: directory });
    return JSON.parse(stdout) as Record<string, unknown>[];
  };

  const before = await start(Object.fromEntries(CASES.map(({ setting, wrong }) => [setting, wrong])));
  for (const { plugin, platform } of cases) {
    const { name } = plugin;
    dictation.say(`hello ${name}`, 'Here you are.');
    dictation.end(`hello ${name}`);
    await platform.deliver(before, { text: `hello ${name}`, number: 1 });
    await before.logged(
      ({ channel, msg }) =>
        channel === name && msg === "the platform refuses the channel's credentials; replies wait",
    );
  }
  const health = (await (await fetch(before.url)).json()) as { adapters: Record<string, object> };
  for (const { plugin } of cases) expect(health.adapters[plugin.name]).toMatchObject({ status: 'degraded' });
  expect(await inbox('list', '--failed')).toEqual([]);
  const waiting = cases.map(({ plugin, reason }) =>
    expect.objectContaining({
      platform: plugin.name,
      state: 'replied',
      failure: expect.stringContaining(reason),
      attempts: 1,
    }),
  );
  await expect.poll(() => inbox('list'), { interval: 200 }).toEqual(expect.arrayContaining(waiting));
  await before.stop();

  await start();
  for (const { platform } of cases) {
    await platform.until(() => platform.shown.some(({ what }) => what === 'message'));
    expect(platform.shown.filter(({ what }) => what === 'message')).toMatchObject([
      { text: 'Here you are.' },
    ]);
  }
  expect(dictation.runs).toEqual(cases.map(({ plugin }) => `hello ${plugin.name}`));
  await expect.poll(() => inbox('list'), { interval: 200 }).toEqual([]);
});
