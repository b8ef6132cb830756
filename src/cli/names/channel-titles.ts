import { CHANNEL_TITLES } from '../../../plugins/names.ts';
import type { Column } from '../output.ts';

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
