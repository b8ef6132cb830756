import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { isDaemonAt } from '../daemon/admin/settings.ts';
import type { OptionValues } from './command.ts';
import { configLocation, DEV_FOLDER } from './config-location.ts';

/** The file in which `serve --dev` keeps its settings for other terminals, relative to its working directory. */
export const DEV_FILE = `${DEV_FOLDER}/env`;

/** Printed by commands that use these settings. */
export const USING_DEV_SETTINGS = `Using the settings of \`serve --dev\` in ${DEV_FILE}.`;

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
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
