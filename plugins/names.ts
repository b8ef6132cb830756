/**
 * The values of `platform` that service.md documents. They are reserved, whether or not such a channel is
 * active or even present: no third party may take one, and no web client may name a session that begins
 * like one of theirs (decisions §3).
 */
export const RESERVED_CHANNEL_NAMES = ['webchat', 'sse', 'teamchat', 'phonechat', 'msgbot'] as const;

/** What examples of help and manual pages speak of, so that they can be typed as they stand. */
export const EXAMPLE = {
  channel: 'teamchat',
  user: 'U0ADA',
  /** Signs its user in; a token follows. */
  command: '/service-auth',
  message_id: 'teamchat:D0ADA:1795298073.699054',
} as const satisfies { channel: (typeof RESERVED_CHANNEL_NAMES)[number]; [name: string]: string };
