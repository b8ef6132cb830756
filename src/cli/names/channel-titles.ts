import { CHANNEL_TITLES } from '../../../plugins/names.ts';
import type { ChannelPlugin } from '../../channel/index.ts';
import type { Column } from '../output.ts';

/** The word for a channel with this title, as people write it on the command line: `acme-chat`. */
export function toAlias(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}

/** The names of the channels that a word may mean: the one that has this name, or else those that have this title. */
export function namesMeant(
  word: string,
  plugins: readonly Pick<ChannelPlugin, 'name' | 'title'>[],
): string[] {
  const named = plugins.filter(({ name }) => name === word);
  const meant =
    named.length > 0 ? named : plugins.filter(({ title }) => title !== undefined && toAlias(title) === word);
  return meant.map(({ name }) => name);
}

/** A channel for people: its name, and its title if the name of a bundled channel does not say it. */
export function channelInWords(name: string): string {
  const title = CHANNEL_TITLES[name];
  return title === undefined ? name : `${name} (${title})`;
}

/** A channel in a narrow table: its title, which the command line accepts, or else its name. */
export function shortChannel(name: string): string {
  return CHANNEL_TITLES[name] ?? name;
}

/** The channel in a table of records. */
export const CHANNEL_COLUMN = {
  title: 'CHANNEL',
  json: 'platform',
  text: ({ platform }) => channelInWords(platform),
  short: ({ platform }) => shortChannel(platform),
} as const satisfies Column<{ platform: string }>;
