import type { ChannelCheck, SetupOutcome } from '../../src/channel/index.ts';
import type { Call } from './client.ts';
import { manifestFor, SCOPES } from './manifest.ts';
import { refusalOf } from './refusal.ts';

/** The platform has no method that registers addresses with a bot token, so the operator pastes the manifest. */
export async function printManifest(address: string): Promise<SetupOutcome> {
  return {
    outcome: 'document',
    detail:
      'At api.slack.com/apps choose Create New App, From a manifest, and paste the manifest; for an existing app, paste the manifest under App Manifest. The daemon must run with TEAMCHAT_SIGNING_SECRET of the app when the platform verifies the address.',
    document: manifestFor(address),
  };
}

/** Checks that the bot token has the scopes of the manifest. The platform lists them in a header of each answer. */
export async function checkScopes(call: Call): Promise<ChannelCheck> {
  let response_metadata: unknown;
  try {
    ({ response_metadata } = await call('auth.test', {}));
  } catch (error) {
    return {
      outcome: 'failed',
      detail: `the platform did not report which scopes the bot token has: ${refusalOf(error).reason}`,
      advice: 'Run `agentd doctor` again.',
    };
  }
  const { scopes } = (response_metadata ?? {}) as { scopes?: unknown };
  if (!Array.isArray(scopes))
    return {
      outcome: 'warning',
      detail: 'the platform did not report which scopes the bot token has',
      advice: `It needs ${SCOPES.join(', ')}: compare them under OAuth & Permissions.`,
    };
  const missing = SCOPES.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return { outcome: 'ok', detail: 'the bot token has all scopes of the manifest' };
  return {
    outcome: 'warning',
    detail: `the bot token lacks ${missing.length === 1 ? 'the scope' : 'the scopes'} ${missing.join(', ')}`,
    advice:
      'Give the app the manifest of `agentd channels setup teamchat`, and install it in the workspace again.',
  };
}
