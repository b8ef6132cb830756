import { describe, expect, it } from 'vitest';
import msgbot from '../../../plugins/msgbot/index.ts';
import phonechat from '../../../plugins/phonechat/index.ts';
import teamchat from '../../../plugins/teamchat/index.ts';
import type { ChannelPlugin, ChannelRequest, SimulatedRefusal } from '../../../src/channel/index.ts';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { recordingScope } from '../../support/channel-scope.ts';
import { FakePlatform } from '../../support/fake-platform.ts';

const PLUGINS: readonly ChannelPlugin[] = [teamchat, phonechat, msgbot];

let platform: FakePlatform;

/** Makes the platform refuse a reply. @returns the failure that the channel reports, and the platform's answer */
async function refused(plugin: ChannelPlugin, asked: SimulatedRefusal) {
  platform = await FakePlatform.start(plugin);
  const { simulator, settings } = platform;
  const said = simulator.refusal?.(asked);
  if (!said) throw new Error(`the simulator of ${plugin.name} does not refuse`);
  const scope = recordingScope(settings, {});
  const channel = plugin.create(scope);
  const { method, path, headers, body } = simulator.delivery(platform.event(), settings);
  const route = channel.routes.find((one) => one.path === path && one.method === method);
  const request: Partial<ChannelRequest> = {
    id: 'r1',
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: Buffer.from(body),
    json: () => JSON.parse(body) as Record<string, unknown>,
  };
  await route?.handle(request as ChannelRequest);
  const [message] = scope.enqueued;
  if (!message?.reply_to) throw new Error('the delivery was not accepted');
  platform.answer = () => said;
  const failure = await channel
    .send?.({ id: 'm1', session_id: 's', text: 'Hello.', reply_to: message.reply_to })
    .then(
      () => null,
      (error: unknown) => error,
    );
  await channel.stop?.();
  if (!(failure instanceof DeliveryFailed)) throw new Error(`not refused: ${String(failure)}`);
  return { failure, said };
}

describe.each(PLUGINS)('a simulated refusal for $name', (plugin) => {
  // A token with an invalid form gets 404 from Telegram.
  const ofToken = plugin.name === 'msgbot' ? [401, 404] : [401];

  it.each(ofToken)(
    'of the credentials, with status %i, makes replies wait for new credentials',
    async (status) => {
      const { failure } = await refused(plugin, { status, retry_after_seconds: null });
      expect(failure).toMatchObject({ final: false, platform: 'credentials' });
    },
  );

  const others = [400, 403, 404, 409, 413].filter((status) => !ofToken.includes(status));

  it.each(others)('with status %i is final for the channel', async (status) => {
    const { failure } = await refused(plugin, { status, retry_after_seconds: null });
    expect(failure.final).toBe(true);
    expect(failure.message).not.toMatch(/^status \d+$/);
  });

  it.each([429, 500, 502, 503])('with status %i makes the channel try again', async (status) => {
    const { failure } = await refused(plugin, { status, retry_after_seconds: null });
    expect(failure.final).toBe(false);
  });

  it('with a time to wait makes the channel report that time', async () => {
    const { failure } = await refused(plugin, { status: 429, retry_after_seconds: 7 });
    expect(failure).toMatchObject({ final: false, retry_after_seconds: 7 });
  });
});

it.each<[ChannelPlugin, SimulatedRefusal, number, object]>([
  // The Web API reports errors of the caller with status 200.
  [teamchat, { status: 400, retry_after_seconds: null }, 200, { ok: false, error: 'invalid_arguments' }],
  [teamchat, { status: 429, retry_after_seconds: 3 }, 429, { ok: false, error: 'ratelimited' }],
  [teamchat, { status: 503, retry_after_seconds: null }, 503, { ok: false, error: 'service_unavailable' }],
  [
    phonechat,
    { status: 429, retry_after_seconds: null },
    429,
    { error: { message: '(#130429) Rate limit hit', type: 'OAuthException', code: 130429 } },
  ],
  [
    phonechat,
    { status: 401, retry_after_seconds: null },
    401,
    { error: { type: 'OAuthException', code: 190 } },
  ],
  [
    msgbot,
    { status: 429, retry_after_seconds: 3 },
    429,
    {
      ok: false,
      error_code: 429,
      description: 'Too Many Requests: retry after 3',
      parameters: { retry_after: 3 },
    },
  ],
  [
    msgbot,
    { status: 502, retry_after_seconds: null },
    502,
    { ok: false, error_code: 502, description: 'Bad Gateway' },
  ],
])('a refusal for $name has the error text of the real platform', async (plugin, asked, status, body) => {
  const { said } = await refused(plugin, asked);
  expect(said).toMatchObject({ status, body });
});
