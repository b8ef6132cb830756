import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import type { ChannelPlugin } from '../../src/channel/index.ts';
import { command } from '../support/command.ts';
import { startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { FakePlatform } from '../support/fake-platform.ts';

// If the platform refuses a reply because the channel's own token is wrong, the reply waits until the token is
// replaced.

it.each<[string, ChannelPlugin, setting: string, wrong: string, reason: string]>([
  ['teamchat', teamchat, 'TEAMCHAT_BOT_TOKEN', 'xoxb-revoked', 'invalid_auth'],
  ['phonechat', phonechat, 'PHONECHAT_ACCESS_TOKEN', 'revoked', 'status 401, code 190'],
  ['msgbot', msgbot, 'MSGBOT_BOT_TOKEN', '5550100:revoked', 'Unauthorized'],
])(
  '%s: replies wait while the token is refused, and are sent when it is replaced',
  async (_name, plugin, setting, wrong, reason) => {
    const platform = await FakePlatform.start(plugin);
    const dictation = await Dictation.start();
    const directory = mkdtempSync(join(tmpdir(), 'agentd-mended-'));
    const start = async (env: Record<string, string> = {}) => {
      const daemon = await startAgentd({ directory, env: { ...platform.env, ...dictation.env, ...env } });
      onTestFinished(async () => void (await daemon.stop('SIGKILL')));
      return daemon;
    };
    onTestFinished(async () => {
      rmSync(directory, { recursive: true, force: true });
      await platform.close();
      await dictation.close();
    });
    const inbox = async (...args: string[]) => {
      const { stdout } = await command(['inbox', ...args, '--json'], { cwd: directory });
      return JSON.parse(stdout) as Record<string, unknown>[];
    };

    const before = await start({ [setting]: wrong });
    dictation.say('hello', 'Here you are.');
    dictation.end('hello');
    await platform.deliver(before, { text: 'hello', number: 1 });
    await before.logged(({ msg }) => msg === "the platform refuses the channel's credentials; replies wait");
    const health = (await (await fetch(before.url)).json()) as { adapters: Record<string, object> };
    expect(health.adapters[plugin.name]).toMatchObject({ status: 'degraded' });
    expect(await inbox('list', '--failed')).toEqual([]);
    const waiting = { state: 'replied', failure: expect.stringContaining(reason), attempts: 1 };
    await expect.poll(() => inbox('list'), { interval: 200 }).toMatchObject([waiting]);
    await before.stop();

    await start();
    await platform.until(() => platform.shown.some(({ what }) => what === 'message'));
    expect(platform.shown.filter(({ what }) => what === 'message')).toMatchObject([
      { text: 'Here you are.' },
    ]);
    expect(dictation.runs).toEqual(['hello']);
    await expect.poll(() => inbox('list'), { interval: 200 }).toEqual([]);
  },
);
