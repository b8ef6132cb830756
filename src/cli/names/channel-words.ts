import { CHANNEL_TITLES, namesMeant, RESERVED_CHANNEL_NAMES, toAlias } from '../../../plugins/names.ts';
import type { ChannelLinking, ChannelPlugin } from '../../channel/index.ts';
import { loadBundled } from '../../daemon/admin/channels.ts';
import { pluginsAt, type SettingProblem } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { type CliError, usageError } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import { configLocation } from '../config-location.ts';

/**
 * Names and aliases of the bundled channels. A stored script cannot know other channels, which depend on the
 * configuration.
 */
export const channelNames: readonly string[] = [
  ...RESERVED_CHANNEL_NAMES,
  ...Object.values(CHANNEL_TITLES).map(toAlias),
];

/**
 * The name of the channel that a word of the command line means: its name, or its title in lower case. Another word is
 * returned as it is, since data of a removed plugin can still be found.
 * @throws CliError (2) if the word is the title of several channels
 */
export async function channelNamed(word: string, options: OptionValues): Promise<string> {
  const isBundled = (RESERVED_CHANNEL_NAMES as readonly string[]).includes(word);
  if (isBundled || !/^[a-z]/.test(word)) return word;
  const { plugins } = await pluginsAt(configLocation(options));
  const named = namesMeant(
    word,
    plugins.map(({ plugin }) => plugin),
  );
  const [first = word, another] = named;
  if (another === undefined) return first;
  throw usageError(`'${printable(word)}' means several channels`, `Use one of: ${named.join(', ')}.`);
}

export async function simulatedChannels(): Promise<string[]> {
  return (await listBundled()).filter(({ simulator }) => simulator !== undefined).map(({ name }) => name);
}

/** Words of `agentd link` for channels whose users can be linked. */
async function linkingWords(): Promise<string[]> {
  return (await listBundled()).flatMap(({ name, linking }) =>
    linking === undefined ? [] : [linking.word ?? name],
  );
}

/** The arguments that name a user whose link a command changes. */
export const LINK_ARGUMENTS = {
  '<channel>': {
    sentence: 'name of the channel, or its alias for linking, such as `phone`',
    values: linkingWords,
    isChannel: true,
  },
  '<user>': 'id or number of the user on that channel',
} as const;

/** The end of what a command prints that has ended or replaced the link of a user. */
export const USER_WILL_BE_TOLD = 'the daemon tells the user in the chat, if the channel can write first';

async function listBundled() {
  const { plugins } = await loadBundled();
  return plugins.map(({ plugin }) => plugin);
}

/** A channel whose users can be linked. It need not be active: operators link users before they turn a channel on. */
export type LinkableChannel = Pick<ChannelPlugin, 'name'> & { linking: ChannelLinking };

/**
 * The channel that a word of the command line names: by its alias for linking (`linking.word`), or by its name.
 * @throws CliError (2) with the known words if the word matches no channel, or several
 */
export async function linkableChannel(options: OptionValues, word: string): Promise<LinkableChannel> {
  const { plugins, problems } = await pluginsAt(configLocation(options));
  const channels = plugins.map(({ plugin }) => plugin).filter(isLinkable);
  const named = channels.find(({ name }) => name === word);
  const matches = named ? [named] : channels.filter((channel) => channelWord(channel) === word);
  const [channel, another] = matches;
  if (channel && !another) return channel;
  if (another) {
    throw usageError(
      `'${word}' matches several channels: ${matches.map(({ name }) => name).join(', ')}`,
      'Use the name of the channel.',
    );
  }
  const broken = brokenInWords(problems);
  throw usageError(
    `there is no channel '${printable(word)}' whose users can be linked`,
    channels.length === 0
      ? `No installed channel has users that can be linked.${broken}`
      : `Use one of: ${channels.map(channelWords).sort().join(', ')}.${broken}`,
  );
}

/** The end of a list of channels that lacks those that do not load. Empty if all load. */
export function brokenInWords(problems: readonly SettingProblem[]): string {
  return problems.length === 0 ? '' : ' Some channels do not load: run `agentd config check`.';
}

export function isLinkable(plugin: ChannelPlugin): plugin is ChannelPlugin & LinkableChannel {
  return plugin.linking !== undefined;
}

function channelWord({ name, linking }: LinkableChannel): string {
  return linking.word ?? name;
}

function channelWords(channel: LinkableChannel): string {
  const words = new Set([channelWord(channel), channel.name]);
  return [...words].join(' or ');
}

/** The error for a text that is not an id of the channel's users, with the right form. */
export function invalidId({ name, linking }: LinkableChannel, given: string): CliError {
  return usageError(
    `'${printable(given)}' is not a valid ${printable(linking.argument)} of ${name}`,
    linking.form === undefined
      ? 'Write it as the platform does; `agentd link list` and the log show such ids.'
      : `Write it with ${printable(linking.form)}.`,
  );
}
