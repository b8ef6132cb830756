/**
 * Names of the bundled channels. They are reserved whether the channel is active or not: no plugin may use such a name,
 * and no web client may choose a session id that begins with such a name and a colon.
 */
export const RESERVED_CHANNEL_NAMES = ['webchat', 'sse', 'teamchat', 'phonechat', 'msgbot'] as const;

/** Sample values for help and manual pages. They work unchanged. */
export const EXAMPLE = {
  channel: 'teamchat',
  user: 'U0ADA',
  /** Command that signs a user in; a token follows. */
  command: '/service-auth',
  message_id: 'teamchat:D0ADA:1795298073.699054',
} as const satisfies { channel: (typeof RESERVED_CHANNEL_NAMES)[number]; [name: string]: string };
