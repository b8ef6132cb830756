/**
 * Names of the bundled channels. They are reserved even if a channel is not active: no other plugin may use one of
 * them, and no web client may choose a session id that begins with one of them and a colon.
 */
export const RESERVED_CHANNEL_NAMES = ['webchat', 'sse', 'teamchat', 'phonechat', 'msgbot'] as const;

/** The titles of the bundled channels (`ChannelPlugin.title`), for commands that load no plugin. */
export const CHANNEL_TITLES: Readonly<Record<string, string>> = {
  webchat: 'Website',
  teamchat: 'Slack',
  phonechat: 'WhatsApp',
  msgbot: 'Telegram',
} satisfies Partial<Record<(typeof RESERVED_CHANNEL_NAMES)[number], string>>;

/** The word for a channel with this title, as people write it: `acme-chat`. */
export function toAlias(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}

/** The names of the channels that a word may mean: the one that has this name, or else those that have this title. */
export function namesMeant(
  word: string,
  plugins: readonly { name: string; title?: string | undefined }[],
): string[] {
  const named = plugins.filter(({ name }) => name === word);
  const meant =
    named.length > 0 ? named : plugins.filter(({ title }) => title !== undefined && toAlias(title) === word);
  return meant.map(({ name }) => name);
}

/** Where most conversations of a channel are, if not on itself: the widget of the website streams its answers. */
export const MOSTLY_ON: Readonly<Record<string, string>> = {
  webchat: 'sse',
} satisfies Partial<Record<(typeof RESERVED_CHANNEL_NAMES)[number], string>>;

/** Sample values for help and manual pages. They work unchanged. */
export const EXAMPLE = {
  channel: 'teamchat',
  user: 'U0ADA',
  /** Command that signs a user in. A token follows it. */
  command: '/service-auth',
  message_id: 'teamchat:D0ADA:1795298073.699054',
} as const satisfies { channel: (typeof RESERVED_CHANNEL_NAMES)[number]; [name: string]: string };
