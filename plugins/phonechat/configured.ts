import type { ChannelSettings, SecretValue } from '../../src/channel/index.ts';

/** The validated settings. */
export interface Configured {
  access_token: string;
  app_secret: string;
  verify_token: string;
  /** The business numbers that the agent answers for. */
  numbers: ReadonlySet<string>;
  /** Id of their WhatsApp business account; null if it is not known. */
  account_id: string | null;
  /** Without a slash at the end. */
  api_url: string;
}

const CREDENTIALS = [
  'PHONECHAT_ACCESS_TOKEN',
  'PHONECHAT_PHONE_NUMBER_ID',
  'PHONECHAT_APP_SECRET',
  'PHONECHAT_VERIFY_TOKEN',
] as const;

/** Whether all four settings are set. The channel needs all of them. */
export function isConfigured(settings: ChannelSettings): boolean {
  return CREDENTIALS.every((name) => settings[name] !== undefined);
}

export function readSettings(settings: ChannelSettings): Configured {
  return {
    access_token: secretOf(settings.PHONECHAT_ACCESS_TOKEN),
    app_secret: secretOf(settings.PHONECHAT_APP_SECRET),
    verify_token: secretOf(settings.PHONECHAT_VERIFY_TOKEN),
    numbers: new Set(
      String(settings.PHONECHAT_PHONE_NUMBER_ID)
        .split(',')
        .map((id) => id.trim()),
    ),
    account_id:
      settings.PHONECHAT_BUSINESS_ACCOUNT_ID === undefined
        ? null
        : String(settings.PHONECHAT_BUSINESS_ACCOUNT_ID),
    api_url: String(settings.PHONECHAT_API_URL).replace(/\/+$/, ''),
  };
}

/** The platform's secrets contain no white space. White space around a value was copied by mistake. */
function secretOf(value: ChannelSettings[string]): string {
  // `agentd channels setup` needs only some of the settings, so others may be missing.
  return value === undefined ? '' : (value as SecretValue).reveal().trim();
}
