import type { Purpose } from '../daemon/configuration/configure.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import type { OptionValues } from './command.ts';
import { configLocation } from './config-location.ts';

/**
 * The daemon's own settings without those of its channels, from the locations that the daemon reads.
 * Throws ConfigurationError with all problems of the settings that the purpose needs.
 */
export async function coreSettings(
  options: OptionValues,
  purpose: Purpose,
  location = configLocation(options),
): Promise<Settings> {
  const { configureCore } = await import('../daemon/configuration/configure.ts');
  return configureCore({ ...location, purpose });
}
