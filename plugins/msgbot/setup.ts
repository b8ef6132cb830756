import type { ChannelCheck, SetupOutcome } from '../../src/channel/index.ts';
import { type PlatformApi, PlatformFailure } from './api.ts';

/** Path to which the platform delivers updates. */
export const WEBHOOK_PATH = '/webhook/msgbot';

/** The updates that the channel reads. */
const UPDATES = ['message', 'edited_message', 'callback_query', 'message_reaction'] as const;

/** Without it, people cannot rate answers with a reaction; everything else works. */
const OPTIONAL_UPDATE: (typeof UPDATES)[number] = 'message_reaction';

/** Maximum number of waiting updates. If more updates wait, the platform probably cannot deliver them. */
const PENDING_MAX = 100;

const SET_UP = 'Run `agentd channels setup msgbot --url` with the public address of the daemon.';

/** Registers the webhook (`setWebhook`), and asks the platform which webhook is registered. */
export async function register(address: string, api: PlatformApi, secret: string): Promise<SetupOutcome> {
  const url = address + WEBHOOK_PATH;
  try {
    await api.call('setWebhook', { url, secret_token: secret, allowed_updates: UPDATES });
    const info = (await api.call('getWebhookInfo')) as WebhookInfo;
    // A server in the place of the platform (MSGBOT_API_URL) may report nothing.
    const { url: registered = url, pending_update_count = 0, allowed_updates = [], ip_address } = info;
    if (registered !== url)
      return {
        outcome: 'failed',
        detail: `the platform accepted the address, but reports that it delivers to ${registered || 'no address'}`,
        advice: 'Check whether another program registers a webhook for the same bot.',
      };
    const missing = missingUpdates(info);
    if (missing.length > 0)
      return { outcome: 'failed', detail: withoutUpdates(missing), advice: 'Run the command again.' };
    return {
      outcome: 'registered',
      detail: `the platform delivers to ${url}`,
      facts: {
        url,
        pending_update_count,
        allowed_updates: [...allowed_updates],
        ...(ip_address && { ip_address }),
      },
    };
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    return {
      outcome: 'failed',
      detail: `the platform refused the webhook: ${error.message}`,
      advice:
        error.refusal === 'credentials'
          ? 'Set MSGBOT_BOT_TOKEN to the token that BotFather shows for the bot.'
          : 'The address must be public, with a valid certificate, on port 443, 80, 88 or 8443.',
    };
  }
}

/** Checks that the platform delivers the updates that the channel reads, and that waiting updates do not pile up. */
export async function checkRegistration(api: PlatformApi, now: number): Promise<ChannelCheck> {
  try {
    return judge((await api.call('getWebhookInfo')) as WebhookInfo, now);
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    return {
      outcome: 'failed',
      detail: `the platform did not report the registered webhook: ${error.message}`,
      advice: 'Run `agentd doctor` again.',
    };
  }
}

function judge(info: WebhookInfo, now: number): ChannelCheck {
  const { url = '', pending_update_count = 0, last_error_date, last_error_message } = info;
  if (url === '')
    return { outcome: 'warning', detail: 'no webhook is registered: nothing arrives', advice: SET_UP };
  if (!URL.parse(url)?.pathname.endsWith(WEBHOOK_PATH))
    return {
      outcome: 'warning',
      detail: `the webhook is ${url}, which does not belong to this channel`,
      advice: SET_UP,
    };
  const missing = missingUpdates(info);
  if (missing.length > 0) return { outcome: 'warning', detail: withoutUpdates(missing), advice: SET_UP };
  const isRecent = last_error_date !== undefined && now - last_error_date * 1000 < DAY_MS;
  if (isRecent && pending_update_count > 0)
    return {
      outcome: 'warning',
      detail: `the platform cannot deliver to ${url}: ${last_error_message}; ${pending_update_count} updates wait`,
      advice:
        'Check that the address leads to the daemon, and that MSGBOT_WEBHOOK_SECRET is the one that was registered.',
    };
  if (pending_update_count > PENDING_MAX)
    return {
      outcome: 'warning',
      detail: `${pending_update_count} updates wait for ${url}`,
      advice: 'Check that the daemon runs. `agentd inbox list` shows the messages that it has accepted.',
    };
  return { outcome: 'ok', detail: `the platform delivers to ${url}, ${pending_update_count} updates wait` };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** `getWebhookInfo` (https://core.telegram.org/bots/api#webhookinfo). */
interface WebhookInfo {
  /** Empty if no webhook is registered. */
  url?: string;
  pending_update_count?: number;
  ip_address?: string;
  /** Unix time, in seconds. */
  last_error_date?: number;
  last_error_message?: string;
  /** If absent or empty, the platform sends all updates except a few kinds that the channel does not read. */
  allowed_updates?: readonly string[];
}

function missingUpdates({ allowed_updates = [] }: WebhookInfo): string[] {
  return allowed_updates.length === 0
    ? []
    : UPDATES.filter((kind) => kind !== OPTIONAL_UPDATE && !allowed_updates.includes(kind));
}

function withoutUpdates(missing: readonly string[]): string {
  return `the webhook is registered without the updates ${missing.join(', ')}`;
}

/** Asks the platform whether it knows the bot (`getMe`). */
export async function checkToken(api: PlatformApi): Promise<ChannelCheck> {
  try {
    const { username } = await api.call('getMe');
    if (typeof username !== 'string') throw new PlatformFailure(null, 'its answer contains no username');
    return { outcome: 'ok', detail: `the platform knows the bot @${username}` };
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    if (error.refusal === 'credentials')
      return {
        outcome: 'failed',
        detail: `the platform refuses MSGBOT_BOT_TOKEN: ${error.message}`,
        advice: 'Set it to the token that BotFather shows for the bot.',
      };
    return {
      outcome: 'failed',
      detail: `the platform could not be queried: ${error.message}`,
      advice: 'Check that this machine can reach MSGBOT_API_URL.',
    };
  }
}
