import type { ChannelLinking, ChannelPlugin } from '../channel/index.ts';
import { printable } from '../daemon/printable.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { placeOf } from './settings-place.ts';

/** A channel whose users can be linked, active or not: operators link before they turn a channel on. */
export type LinkableChannel = Pick<ChannelPlugin, 'name'> & { linking: ChannelLinking };

/**
 * The channel that a word of the command line means: its word for linking, or its name.
 * @throws CliError (2) with the words that there are, where it means none, or several.
 */
export async function linkableChannel(
  options: Readonly<Record<string, unknown>>,
  word: string,
): Promise<LinkableChannel> {
  const { pluginsAt } = await import('../daemon/configuration/configure.ts');
  const { plugins, problems } = await pluginsAt(placeOf(options));
  const channels = plugins.map(({ plugin }) => plugin).filter(isLinkable);
  const named = channels.find(({ name }) => name === word);
  const meant = named ? [named] : channels.filter((channel) => wordOf(channel) === word);
  const [channel, another] = meant;
  if (channel && !another) return channel;
  if (another) {
    throw new CliError(
      EXIT.usage,
      `'${word}' means several channels: ${meant.map(({ name }) => name).join(', ')}`,
      'Give the name of the channel.',
    );
  }
  const broken = problems.length === 0 ? '' : ' Some channels do not load: see `agentd config check`.';
  throw new CliError(
    EXIT.usage,
    `there is no channel '${printable(word)}' whose users can be linked`,
    channels.length === 0
      ? `No channel that is installed here has users to link.${broken}`
      : `Give one of these words: ${channels.map(wordsOf).sort().join(', ')}.${broken}`,
  );
}

function isLinkable(plugin: ChannelPlugin): plugin is ChannelPlugin & LinkableChannel {
  return plugin.linking !== undefined;
}

function wordOf({ name, linking }: LinkableChannel): string {
  return linking.word ?? name;
}

/** All words that mean this channel. */
function wordsOf(channel: LinkableChannel): string {
  const words = new Set([wordOf(channel), channel.name]);
  return [...words].join(' or ');
}
