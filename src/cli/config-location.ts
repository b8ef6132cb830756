import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { keptSampleTools, type SettingsLocation } from '../daemon/admin/settings.ts';
import { usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';

/** The folder in which `serve --dev` keeps its files, relative to its working directory. */
export const DEV_FOLDER = '.agentd';

/**
 * Where a command looks for settings. It looks where the daemon looks. If the program has found settings of `serve
 * --dev` in the working directory (dev-settings.ts), those settings and the tools of the sample API are the defaults.
 * @throws CliError (2) if the file that `--env-file` names does not exist
 */
export function configLocation(options: OptionValues): SettingsLocation {
  const cwd = process.cwd();
  const envFile = options.envFile as string | undefined;
  if (envFile !== undefined && !existsSync(resolve(cwd, envFile))) {
    throw usageError(
      `--env-file names a file that does not exist: ${envFile}`,
      `Name an existing file, relative to ${cwd}.`,
    );
  }
  const defaults = options.devSettings as Record<string, string> | undefined;
  return {
    env: process.env,
    cwd,
    envFile,
    configFile: options.config as string | undefined,
    ...(defaults === undefined ? {} : { defaults, structured: keptSampleTools(join(cwd, DEV_FOLDER)) }),
  };
}
