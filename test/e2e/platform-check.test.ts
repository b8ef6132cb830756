import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import type { ChannelPlugin } from '../../src/channel/index.ts';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakePlatform } from '../support/fake-platform.ts';

async function adapters({ url }: Agentd): Promise<Record<string, object>> {
  return ((await (await fetch(url)).json()) as { adapters: Record<string, object> }).adapters;
}

const isDegraded = ({ level, msg }: Record<string, unknown>) =>
  level === 'warn' && /is degraded: /.test(String(msg));

describe('a token that the platform refuses is reported at the start', () => {
  const WRONG: [ChannelPlugin, setting: string, wrong: string][] = [
    [teamchat, 'TEAMCHAT_BOT_TOKEN', 'xoxb-revoked'],
    [phonechat, 'PHONECHAT_ACCESS_TOKEN', 'of-somebody-else'],
    [msgbot, 'MSGBOT_BOT_TOKEN', '5550100:revoked'],
  ];
  const platforms: FakePlatform[] = [];
  let daemon: Agentd;
  beforeAll(async () => {
    for (const [plugin] of WRONG) platforms.push(await FakePlatform.start(plugin));
    const right = platforms.map(({ env }) => env);
    const wrong = Object.fromEntries(WRONG.map(([, setting, value]) => [setting, value]));
    daemon = await startAgentd({ env: Object.assign({}, ...right, wrong) });
  });
  afterAll(async () => {
    await daemon.stop('SIGKILL');
    for (const platform of platforms) await platform.close();
  });

  it.each(WRONG)('$name: $1', async ({ name }, _setting, wrong) => {
    await daemon.logged((line) => isDegraded(line) && line.channel === name);
    expect((await adapters(daemon))[name]).toEqual({
      status: 'degraded',
      detail: expect.stringContaining('refuses'),
    });
    const status = await command(['status'], { env: { PORT: new URL(daemon.url).port } });
    expect(status.code).toBe(1);
    expect(status.stdout).toMatch(
      new RegExp(`^agentd at ${daemon.url} is degraded\n(.|\n)*\n${name} +degraded +`),
    );
    const json = await command(['status', '--json', '--url', daemon.url]);
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { status: 'degraded' }]);
    expect(daemon.stdout() + daemon.stderr()).not.toContain(wrong);
  });
});

it('the check runs while the daemon already serves requests, and its result no longer counts once the platform accepts a reply', async () => {
  const platform = await FakePlatform.start(teamchat);
  onTestFinished(() => platform.close());
  const daemon = await startAgentd({ env: platform.env });
  expect((await command(['status', '--url', daemon.url])).code).toBe(0);
  expect(daemon.log().filter(isDegraded)).toEqual([]);
  await daemon.stop();

  platform.answer = ({ path }) => (path.includes('auth.test') ? { status: 503 } : null);
  const again = await startAgentd({ env: platform.env });
  onTestFinished(async () => void (await again.stop('SIGKILL')));
  await again.logged(isDegraded);
  expect((await adapters(again)).teamchat).toMatchObject({ status: 'degraded' });
  await platform.deliver(again, { text: 'hello', number: 1 });
  await again.logged(({ msg }) => msg === 'the channel teamchat is no longer degraded');
  expect((await adapters(again)).teamchat).toEqual({ status: 'ok' });
});

it('the check does not delay the start if the platform does not answer', async () => {
  const platform = await FakePlatform.start(teamchat);
  onTestFinished(() => platform.close());
  platform.answer = () => 'hang';
  const daemon = await startAgentd({ env: platform.env });
  expect((await adapters(daemon)).teamchat).toEqual({ status: 'ok' });
  expect(await daemon.stop()).toBe(0);
});
