import type { ChannelPlugin } from './channel.ts';

/** The word for a channel with this title, as people write it: `acme-chat`. */
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
