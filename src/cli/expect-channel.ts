import { pluginsAt } from '../daemon/admin/settings.ts';
import { nearest, printable } from '../daemon/admin/texts.ts';
import { spellingsOf, type Who } from '../daemon/admin/who.ts';
import { type CliError, usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { configLocation } from './config-location.ts';
import { invalidId } from './invalid-id.ts';
import { isLinkable } from './linkable-channel.ts';

/**
 * Checks that the channel exists. Called only if a command has found no data of the channel, so that data of a removed
 * plugin can still be found.
 * @param flag the option that names the channel; nothing is checked if the option is not given
 * @throws CliError (2) with the known channels.
 */
export async function expectChannel(options: OptionValues, flag: 'platform' | 'channel'): Promise<void> {
  const name = options[flag];
  const unknown = typeof name === 'string' ? await unknownChannel(options, name, `--${flag}: `) : null;
  if (unknown) throw unknown;
}

/**
 * Like `expectChannel`, for the platform user that a command is about. Also checks that the channel recognizes the id.
 * @throws CliError (2) with the known channels, or with the form of an id
 */
export async function expectUserOf(who: Who | null, options: OptionValues): Promise<void> {
  const unknown = who && (await unknownUser(who, options));
  if (unknown) throw unknown;
}

/** The error for a user of an unknown channel, or with an id that the channel does not recognize; null for any other. */
export async function unknownUser(who: Who, options: OptionValues): Promise<CliError | null> {
  if (!('platform' in who)) return null;
  const { plugins } = await pluginsAt(configLocation(options));
  const channel = plugins.map(({ plugin }) => plugin).find(({ name }) => name === who.platform);
  if (channel === undefined) return unknownChannel(options, who.platform);
  if (!isLinkable(channel) || spellingsOf(channel, who.user_id).length > 0) return null;
  return invalidId(channel, who.user_id);
}

/**
 * The error for an unknown channel; null if the channel exists. The channel need not be active: a channel that was
 * turned off may have left data.
 */
async function unknownChannel(options: OptionValues, name: string, prefix = ''): Promise<CliError | null> {
  const { plugins, problems } = await pluginsAt(configLocation(options));
  const known = plugins.map(({ plugin }) => plugin.name);
  if (known.includes(name)) return null;
  const near = nearest(name, known, 2);
  const meant = near === undefined ? '' : `Did you mean '${near.name}'? `;
  const broken = problems.length === 0 ? '' : ' Some channels do not load: run `agentd config check`.';
  return usageError(
    `${prefix}there is no channel '${printable(name)}'`,
    `${meant}The channels are ${known.sort().join(', ')}.${broken}`,
  );
}
