import type { JsonObject } from '../../src/channel/index.ts';

/** Paths of the channel's routes. */
export const PATHS = {
  events: '/webhook/teamchat/events',
  commands: '/webhook/teamchat/commands',
  interactive: '/webhook/teamchat/interactive',
} as const;

/** The scopes of the bot token that events and calls need. */
export const SCOPES = ['app_mentions:read', 'chat:write', 'commands', 'im:history'] as const;

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
        bot_events: ['app_mention', 'app_uninstalled', 'message.im', 'tokens_revoked'],
      },
      interactivity: { is_enabled: true, request_url: address + PATHS.interactive },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  };
}
