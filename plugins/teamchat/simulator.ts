import type { ChannelSettings, PlatformSimulator, Shown, SimulatedEvent } from '../../src/channel/index.ts';
import { secret } from './client.ts';
import { createApi, refusalOf } from './simulator/api.ts';
import { channelOf, commandForm, eventBody, PEOPLE, pressForm, Timestamps } from './simulator/deliveries.ts';
import { signatureOf } from './verify.ts';

/** Simulates Slack: one workspace with one channel, direct messages, and the bot. */
export function createSimulator(): PlatformSimulator {
  const timestamps = new Timestamps();
  return {
    devSettings: (secretOf, api_url) => ({
      TEAMCHAT_BOT_TOKEN: `xoxb-${secretOf('bot-token')}`,
      TEAMCHAT_SIGNING_SECRET: secretOf('signing-secret'),
      TEAMCHAT_API_URL: api_url,
    }),
    apiUrlSetting: 'TEAMCHAT_API_URL',
    who: () => PEOPLE,
    delivery(event, settings) {
      const { path, body } = requestFor(event, timestamps);
      const isForm = path !== 'events';
      return {
        method: 'POST',
        path: `/webhook/teamchat/${path}`,
        headers: {
          'Content-Type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
          Accept: isForm ? 'application/json,*/*' : '*/*',
          'User-Agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
          ...signed(body, keyOf(settings, event)),
        },
        body,
      };
    },
    sign: (request, settings) => ({
      ...request,
      headers: { ...request.headers, ...signed(request.body, keyOf(settings)) },
    }),
    seenIn: (event) => [channelOf(event), event.user],
    shownOf: ({ status, body }) => (status === 200 ? ephemeral(body) : []),
    refusal: refusalOf,
    startApi: (settings) => createApi(settings),
  };
}

function requestFor(event: SimulatedEvent, timestamps: Timestamps): { path: string; body: string } {
  switch (event.kind) {
    case 'command':
      return { path: 'commands', body: commandForm(event) };
    case 'press':
      return { path: 'interactive', body: pressForm(event, timestamps) };
    default:
      return { path: 'events', body: eventBody(event, timestamps) };
  }
}

/** The signature covers the time of the delivery, not of the message. */
function signed(body: string, key: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    'X-Slack-Request-Timestamp': timestamp,
    'X-Slack-Signature': signatureOf(key, timestamp, body),
  };
}

function keyOf(settings: ChannelSettings, { bad_signature = false }: Partial<SimulatedEvent> = {}): string {
  return bad_signature ? 'another secret' : secret(settings, 'TEAMCHAT_SIGNING_SECRET');
}

/** The part of an answer that the sender of a command sees. An answer in plain text is shown as well. */
function ephemeral(body: string): Shown[] {
  const shown = (text: string): Shown[] => (text === '' ? [] : [{ what: 'private', to: 'you', text }]);
  if (!body.startsWith('{')) return shown(body);
  const { response_type, text = '' } = JSON.parse(body) as { response_type?: string; text?: string };
  return response_type === 'ephemeral' ? shown(text) : [];
}
