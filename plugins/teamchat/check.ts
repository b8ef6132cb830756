import type { ChannelCheck } from '../../src/channel/index.ts';
import type { Call } from './client.ts';
import { refusalOf } from './refusal.ts';

/** Asks the platform whether it knows the bot (`auth.test`). */
export async function checkToken(call: Call): Promise<ChannelCheck> {
  try {
    const { user, team } = await call('auth.test', {});
    return {
      outcome: 'ok',
      detail: `the platform knows the bot ${named(user)} of the workspace ${named(team)}`,
    };
  } catch (error) {
    const { reason, credentials } = refusalOf(error);
    if (credentials)
      return {
        outcome: 'failed',
        detail: `the platform refuses TEAMCHAT_BOT_TOKEN: ${reason}`,
        advice: 'Set it to the Bot User OAuth Token of the app, which must be installed in the workspace.',
      };
    return {
      outcome: 'failed',
      detail: `the platform could not be queried: ${reason}`,
      advice: 'Check that this machine can reach TEAMCHAT_API_URL.',
    };
  }
}

function named(value: unknown): string {
  return typeof value === 'string' ? value : '(unnamed)';
}
