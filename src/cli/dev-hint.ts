import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OptionValues } from './command.ts';
import { DEV_FILE } from './dev-settings.ts';
import { EXIT } from './exit-codes.ts';

/** These commands find the settings of `serve --dev` themselves, or create them. */
const WITHOUT = ['serve', 'simulate'];
const NOT_FOUND: readonly number[] = [EXIT.no, EXIT.unavailable, EXIT.config];

/**
 * A hint for a command that failed without using the settings of `serve --dev`, if `serve --dev` has run in the working
 * directory.
 *
 * @param options the options of the program, which may name other settings
 */
export function devHint(command: string, code: number, options: OptionValues, cwd: string): string | null {
  if (WITHOUT.includes(command) || !NOT_FOUND.includes(code)) return null;
  if (options.envFile !== undefined || options.config !== undefined) return null;
  if (!existsSync(join(cwd, DEV_FILE))) return null;
  return `For the daemon of \`serve --dev\` in this directory, add --env-file ${DEV_FILE}.`;
}
