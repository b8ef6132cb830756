import type { ChannelCheck, JsonObject, SetupOutcome } from '../../src/channel/index.ts';
import { type Call, toRefusal } from './api.ts';

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
      detail: `the platform did not report which scopes the bot token has: ${toRefusal(error).reason}`,
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
  const missing = SCOPES.filter((scope) => scope !== OPTIONAL_SCOPE && !scopes.includes(scope));
  if (missing.length === 0)
    return { outcome: 'ok', detail: 'the bot token has all scopes that agentd needs' };
  return {
    outcome: 'warning',
    detail: `the bot token lacks ${missing.length === 1 ? 'the scope' : 'the scopes'} ${missing.join(', ')}`,
    advice:
      'Give the app the manifest of `agentd channels setup teamchat`, and install it in the workspace again.',
  };
}

/** Asks the platform whether it knows the bot (`auth.test`). */
export async function checkToken(call: Call): Promise<ChannelCheck> {
  try {
    const { user, team } = await call('auth.test', {});
    return {
      outcome: 'ok',
      detail: `the platform knows the bot ${named(user)} of the workspace ${named(team)}`,
    };
  } catch (error) {
    const { reason, credentials } = toRefusal(error);
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

/** Paths of the channel's routes. */
export const PATHS = {
  events: '/webhook/teamchat/events',
  commands: '/webhook/teamchat/commands',
  interactive: '/webhook/teamchat/interactive',
} as const;

/** The scopes of the bot token that events and calls need. */
const SCOPES = ['app_mentions:read', 'chat:write', 'commands', 'im:history', 'reactions:read'] as const;

/** Without it, people cannot rate answers with a reaction; everything else works. */
const OPTIONAL_SCOPE: (typeof SCOPES)[number] = 'reactions:read';

/**
 * The manifest of the app (https://docs.slack.dev/reference/app-manifest). config/teamchat-manifest.json is the same
 * manifest with a sample address.
 * @param address public address of the daemon, without a slash at the end
 */
export function manifestFor(address: string): JsonObject {
  return {
    display_information: {
      name: 'agentd',
      description: 'Answers questions, as the person who asks',
    },
    features: {
      app_home: {
        home_tab_enabled: false,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: 'agentd', always_online: true },
      slash_commands: [
        {
          command: '/service-auth',
          url: address + PATHS.commands,
          description: 'Signs you in, so that answers are about you',
          usage_hint: 'your token, or off',
          should_escape: false,
        },
      ],
    },
    oauth_config: { scopes: { bot: [...SCOPES] } },
    settings: {
      event_subscriptions: {
        request_url: address + PATHS.events,
        bot_events: ['app_mention', 'app_uninstalled', 'message.im', 'reaction_added', 'tokens_revoked'],
      },
      interactivity: { is_enabled: true, request_url: address + PATHS.interactive },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  };
}
