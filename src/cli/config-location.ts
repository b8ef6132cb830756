import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import {
  type ConfigLocation,
  DEFAULT_ENV_FILE,
  isDaemonAt,
  keptSampleTools,
  type Purpose,
  readSettings,
  type Settings,
} from '../daemon/admin/settings.ts';
import { printable } from '../daemon/admin/texts.ts';
import { EXIT, usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';

/** The folder in which `serve --dev` keeps its files, relative to its working directory. */
const DEV_FOLDER = '.agentd';

/**
 * Where a command looks for settings. It looks where the daemon looks. If the program has found settings of `serve
 * --dev` in the working directory, those settings and the tools of the sample API are the defaults.
 * @throws CliError (2) if the file that `--env-file` names does not exist
 */
export function configLocation(options: OptionValues): ConfigLocation {
  const cwd = process.cwd();
  const { envFile, config, devSettings: defaults } = options;
  if (envFile !== undefined && !existsSync(resolve(cwd, envFile))) {
    throw usageError(
      `--env-file names a file that does not exist: ${envFile}`,
      `Name an existing file, relative to ${cwd}.`,
    );
  }
  return {
    env: process.env,
    cwd,
    envFile,
    configFile: config,
    ...(defaults === undefined ? {} : { defaults, structured: keptSampleTools(join(cwd, DEV_FOLDER)) }),
  };
}

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

/** The file in which `serve --dev` keeps its settings for other terminals, relative to its working directory. */
const DEV_FILE = `${DEV_FOLDER}/env`;

/** Printed by commands that use these settings. */
export const USING_DEV_SETTINGS = `Using the settings of \`serve --dev\` in ${DEV_FILE}.`;

/** Printed by commands that do not use these settings because of `--config`; null if there are none in the directory. */
export function notUsingDevSettings({ config }: OptionValues, cwd: string): string | null {
  return config === undefined || !existsSync(join(cwd, DEV_FILE))
    ? null
    : `The settings of \`serve --dev\` in ${DEV_FILE} are not used, because --config names a file.`;
}

/**
 * The settings that `serve --dev` keeps in the working directory. A command uses them if its own settings describe no
 * daemon: no settings file was named, and JWT_ALGORITHM, which `serve` needs, is not set. Null if there are none, or if
 * the command's settings describe another daemon.
 */
export async function findDevSettings(options: OptionValues): Promise<Record<string, string> | null> {
  if (options.envFile !== undefined || options.config !== undefined) return null;
  const location = configLocation(options);
  if (!existsSync(join(location.cwd, DEV_FILE))) return null;
  return (await isDaemonAt(location)) ? null : readDevSettings(location.cwd);
}

/** The settings that `serve --dev` keeps in this directory. Null if it has not run here. */
export async function readDevSettings(cwd: string): Promise<Record<string, string> | null> {
  try {
    const values = parseEnv(await readFile(join(cwd, DEV_FILE), 'utf8'));
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? '']));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

interface EndedCommand {
  code: number;
  /** The options of the program, which may name settings. */
  options: OptionValues;
  /** Whether it used the settings of `serve --dev` in the working directory, or never does. */
  usesDev: boolean;
}

/** A hint about settings that a command did not use: those of `serve --dev`, or a `.env` next to `--config`. */
export function settingsHint({ code, options, usesDev }: EndedCommand, cwd: string): string | null {
  return envFileHint(code, options, cwd) ?? (usesDev ? null : devHint(code, options, cwd));
}

const CODES_WITH_HINT: readonly number[] = [EXIT.no, EXIT.unavailable, EXIT.config];

/**
 * A hint for a command that failed without using the settings of `serve --dev`, if `serve --dev` has run in the working
 * directory.
 *
 * @param options the options of the program, which may name other settings
 */
function devHint(code: number, options: OptionValues, cwd: string): string | null {
  if (!CODES_WITH_HINT.includes(code)) return null;
  if (options.envFile !== undefined || options.config !== undefined) return null;
  if (!existsSync(join(cwd, DEV_FILE))) return null;
  return `For the daemon of \`serve --dev\` in this directory, add --env-file ${DEV_FILE}.`;
}

/**
 * A hint for a command with a wrong configuration, if a `.env` next to the file that `--config` names was not read. The
 * `.env` file is looked up in the working directory only.
 */
function envFileHint(code: number, { config, envFile }: OptionValues, cwd: string): string | null {
  if (code !== EXIT.config || config === undefined || envFile !== undefined) return null;
  const folder = dirname(config);
  const path = join(folder, DEFAULT_ENV_FILE);
  if (resolve(cwd, folder) === resolve(cwd) || !existsSync(resolve(cwd, path))) return null;
  return `${printable(path)} was not read, since it is not in the working directory. To use it, add --env-file ${printable(path)}.`;
}
