import type { Settings } from '../daemon/settings/settings.ts';

/** What a command needs the settings for: nothing else in them can make it fail. */
export type Purpose = 'address' | 'store' | 'log' | 'tokens';

/**
 * The daemon's own settings, from the same places as the daemon reads them (cli.md), without its channels.
 * Throws ConfigurationError with every problem of the settings that the purpose needs.
 */
export async function coreSettings(
  options: Readonly<Record<string, unknown>>,
  purpose: Purpose,
): Promise<Settings> {
  const { configureCore } = await import('../daemon/settings/configure.ts');
  return configureCore({
    env: process.env,
    cwd: process.cwd(),
    envFile: options.envFile as string | undefined,
    configFile: options.config as string | undefined,
    purpose,
  });
}
