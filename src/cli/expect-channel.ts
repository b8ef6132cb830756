import { printable } from '../daemon/printable.ts';
import { nearest } from '../daemon/settings/nearest.ts';
import { type CliError, usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { configLocation } from './config-location.ts';
import type { Who } from './who.ts';

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
 * Like `expectChannel`, for the channel of the platform user that a command is about.
 * @throws CliError (2) with the known channels.
 */
export async function expectChannelOf(who: Who | null, options: OptionValues): Promise<void> {
  const unknown = who && 'platform' in who ? await unknownChannel(options, who.platform) : null;
  if (unknown) throw unknown;
}

/**
 * The error for an unknown channel; null if the channel exists. The channel need not be active: a channel that was
 * turned off may have left data.
 */
export async function unknownChannel(
  options: OptionValues,
  name: string,
  prefix = '',
): Promise<CliError | null> {
  const { pluginsAt } = await import('../daemon/configuration/configure.ts');
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
