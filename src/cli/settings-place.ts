import type { ConfigureOptions } from '../daemon/settings/configure.ts';

/** Where a command looks for settings: the same places as the daemon (cli.md). */
export function placeOf(options: Readonly<Record<string, unknown>>): ConfigureOptions {
  return {
    env: process.env,
    cwd: process.cwd(),
    envFile: options.envFile as string | undefined,
    configFile: options.config as string | undefined,
  };
}
