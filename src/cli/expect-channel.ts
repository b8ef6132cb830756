import { printable } from '../daemon/printable.ts';
import { usageError } from './cli-error.ts';
import { configLocation } from './config-location.ts';

/**
 * Does the channel exist? Called only if a command has found no data of the channel, so that data of a removed plugin
 * can still be found.
 * @param flag the option that names the channel; an option that is not given is fine
 * @throws CliError (2) with the known channels.
 */
export async function expectChannel(
  options: Readonly<Record<string, unknown>>,
  flag: 'platform' | 'channel',
): Promise<void> {
  const name = options[flag];
  if (typeof name !== 'string') return;
  const { pluginsAt } = await import('../daemon/configuration/configure.ts');
  const { plugins, problems } = await pluginsAt(configLocation(options));
  const known = plugins.map(({ plugin }) => plugin.name);
  if (known.includes(name)) return;
  const broken = problems.length === 0 ? '' : ' Some channels do not load: run `agentd config check`.';
  throw usageError(
    `--${flag}: there is no channel '${printable(name)}'`,
    `The channels are ${known.sort().join(', ')}.${broken}`,
  );
}
