import { type Purpose, readSettings, type Settings } from '../daemon/admin/settings.ts';
import type { OptionValues } from './command.ts';
import { configLocation } from './config-location.ts';

/**
 * The daemon's own settings without those of its channels, where this command looks for them.
 * @throws ConfigurationError with all problems of the settings that the purpose needs.
 */
export async function coreSettings(
  options: OptionValues,
  purpose: Purpose,
  location = configLocation(options),
): Promise<Settings> {
  return readSettings(location, purpose);
}
