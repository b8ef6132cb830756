/**
 * The values of `platform` that service.md documents. They are reserved, whether or not such a channel is
 * active or even present: no third party may take one, and no web client may name a session that begins
 * like one of theirs (decisions §3).
 */
export const RESERVED_CHANNEL_NAMES = ['webchat', 'sse', 'teamchat', 'phonechat', 'msgbot'] as const;
