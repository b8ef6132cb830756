import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { placeOf } from './settings-place.ts';

/** Where `serve --dev` keeps its settings for other terminals, as seen from its working directory. */
export const DEV_FILE = '.agentd/env';

/** What the person is told whose command uses them. */
export const USING_DEV_SETTINGS = `Using the settings of \`serve --dev\` in ${DEV_FILE}.`;

/**
 * The settings that `serve --dev` keeps in the working directory, for a command whose own settings are of no
 * daemon: no file was named, and JWT_ALGORITHM, without which `serve` does not start, is not set. Null: there
 * are none, or the command is about another daemon.
 */
export async function findDevSettings(
  options: Readonly<Record<string, unknown>>,
): Promise<Record<string, string> | null> {
  if (options.envFile !== undefined || options.config !== undefined) return null;
  const place = placeOf(options);
  if (!existsSync(join(place.cwd, DEV_FILE))) return null;
  const { isDaemonAt } = await import('../daemon/configuration/configure.ts');
  return (await isDaemonAt(place)) ? null : readDevSettings(place.cwd);
}

/** Null if no `serve --dev` has run here. */
export async function readDevSettings(cwd: string): Promise<Record<string, string> | null> {
  try {
    const values = parseEnv(await readFile(join(cwd, DEV_FILE), 'utf8'));
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? '']));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
