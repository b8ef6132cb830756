import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_ENV_FILE } from '../daemon/admin/settings.ts';
import { printable } from '../daemon/admin/texts.ts';
import type { OptionValues } from './command.ts';
import { DEV_FILE } from './dev-settings.ts';
import { EXIT } from './exit-codes.ts';

/** A command that has ended. */
interface EndedCommand {
  /** The first word of its name. */
  command: string;
  code: number;
  /** The options of the program, which may name settings. */
  options: OptionValues;
  /** Whether it used the settings of `serve --dev` in the working directory. */
  usesDev: boolean;
}

/** A hint about settings that a command did not use: those of `serve --dev`, or a `.env` next to `--config`. */
export function settingsHint({ command, code, options, usesDev }: EndedCommand, cwd: string): string | null {
  return envFileHint(code, options, cwd) ?? (usesDev ? null : devHint(command, code, options, cwd));
}

/** These commands find the settings of `serve --dev` themselves, or create them. */
const WITHOUT = ['serve', 'simulate'];
const NOT_FOUND: readonly number[] = [EXIT.no, EXIT.unavailable, EXIT.config];

/**
 * A hint for a command that failed without using the settings of `serve --dev`, if `serve --dev` has run in the working
 * directory.
 *
 * @param options the options of the program, which may name other settings
 */
function devHint(command: string, code: number, options: OptionValues, cwd: string): string | null {
  if (WITHOUT.includes(command) || !NOT_FOUND.includes(code)) return null;
  if (options.envFile !== undefined || options.config !== undefined) return null;
  if (!existsSync(join(cwd, DEV_FILE))) return null;
  return `For the daemon of \`serve --dev\` in this directory, add --env-file ${DEV_FILE}.`;
}

/**
 * A hint for a command with a wrong configuration, if a `.env` next to the file that `--config` names was not read. The
 * `.env` file is looked up in the working directory only.
 */
function envFileHint(code: number, { config, envFile }: OptionValues, cwd: string): string | null {
  if (code !== EXIT.config || typeof config !== 'string' || envFile !== undefined) return null;
  const folder = dirname(config);
  const path = join(folder, DEFAULT_ENV_FILE);
  if (resolve(cwd, folder) === resolve(cwd) || !existsSync(resolve(cwd, path))) return null;
  return `${printable(path)} was not read, since it is not in the working directory. To use it, add --env-file ${printable(path)}.`;
}
