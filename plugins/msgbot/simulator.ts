import { createHash } from 'node:crypto';
import type { PlatformSimulator } from '../../src/channel/index.ts';
import { BotApi, refusalOf } from './simulator/api.ts';
import { PEOPLE, roomOf, secretOf, updateOf } from './simulator/update.ts';

/** Id of a bot that does not exist on the platform. */
const BOT_ID = 5550100;

/** Simulates Telegram: its updates and its Bot API. */
export const simulator: PlatformSimulator = {
  apiUrlSetting: 'MSGBOT_API_URL',
  devSettings: (secret, api_url) => ({
    MSGBOT_BOT_TOKEN: `${BOT_ID}:${secret('MSGBOT_BOT_TOKEN')}`,
    MSGBOT_WEBHOOK_SECRET: secret('MSGBOT_WEBHOOK_SECRET'),
    MSGBOT_API_URL: api_url,
  }),
  who: () => PEOPLE,
  delivery(event, settings) {
    const secret = secretOf(settings, 'MSGBOT_WEBHOOK_SECRET');
    return {
      method: 'POST',
      path: '/webhook/msgbot',
      headers: {
        'Content-Type': 'application/json',
        'X-Telegram-Bot-Api-Secret-Token': event.bad_signature ? another(secret) : secret,
      },
      body: JSON.stringify(updateOf(event, secretOf(settings, 'MSGBOT_BOT_TOKEN'))),
    };
  },
  seenIn: (event) => [String(roomOf(event))],
  refusal: refusalOf,
  startApi: (settings) => new BotApi(secretOf(settings, 'MSGBOT_BOT_TOKEN')),
};

function another(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
