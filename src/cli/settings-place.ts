import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigureOptions } from '../daemon/configuration/configure.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';

/**
 * Where a command looks for settings: the same places as the daemon, and behind them what `serve --dev` keeps
 * in the working directory, if the program has found it (dev-settings.ts).
 * @throws CliError (2) if the file that `--env-file` names does not exist.
 */
export function placeOf(options: Readonly<Record<string, unknown>>): ConfigureOptions {
  const cwd = process.cwd();
  const envFile = options.envFile as string | undefined;
  if (envFile !== undefined && !existsSync(resolve(cwd, envFile))) {
    throw new CliError(
      EXIT.usage,
      `--env-file names a file that does not exist: ${envFile}`,
      `Give the path of a file, as seen from ${cwd}.`,
    );
  }
  const defaults = options.devSettings as Record<string, string> | undefined;
  return {
    env: process.env,
    cwd,
    envFile,
    configFile: options.config as string | undefined,
    ...(defaults === undefined ? {} : { defaults }),
  };
}
