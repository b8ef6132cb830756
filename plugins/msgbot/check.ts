import type { ChannelCheck } from '../../src/channel/index.ts';
import type { PlatformApi } from './api.ts';
import { PlatformFailure } from './failures.ts';

/** Asks the platform whether it knows the bot (`getMe`). */
export async function checkToken(api: PlatformApi): Promise<ChannelCheck> {
  try {
    const me: { username?: unknown } | null = await api.call((bot) => bot.getMe());
    const username = me?.username;
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
