import type { ChannelSettings, SettingRecord } from '../../src/channel/index.ts';

export const SETTINGS: readonly SettingRecord[] = [
  {
    name: 'TEAMCHAT_BOT_TOKEN',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Bot User OAuth Token of the Slack app (“OAuth & Permissions”), which sends the replies. Together with TEAMCHAT_SIGNING_SECRET it turns the teamchat channel on.',
    example: 'xoxb-…',
  },
  {
    name: 'TEAMCHAT_SIGNING_SECRET',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Signing Secret of the Slack app (“Basic Information”), which proves that webhooks come from Slack.',
  },
  {
    name: 'TEAMCHAT_API_URL',
    kind: 'url',
    default: 'https://slack.com/api',
    sentence: 'Base address of the Slack Web API. Change it for a proxy or a simulator.',
  },
];

/** The value of a secret setting. An active channel has all secrets. */
export function secret(settings: ChannelSettings, name: string): string {
  const value = settings[name];
  if (typeof value === 'object' && 'reveal' in value) return value.reveal();
  throw new Error(`${name} is not set`);
}
