import type { Purpose } from '../daemon/configuration/configure.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import { placeOf } from './settings-place.ts';

/**
 * The daemon's own settings, from the same places as the daemon reads them (cli.md), without its channels.
 * Throws ConfigurationError with every problem of the settings that the purpose needs.
 */
export async function coreSettings(
  options: Readonly<Record<string, unknown>>,
  purpose: Purpose,
  place = placeOf(options),
): Promise<Settings> {
  const { configureCore } = await import('../daemon/configuration/configure.ts');
  return configureCore({ ...place, purpose });
}
