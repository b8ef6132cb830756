import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DEV_FILE } from './dev-settings.ts';
import { EXIT } from './exit-codes.ts';

/** These look for the settings of `serve --dev` in a way of their own, or make them. */
const WITHOUT = ['serve', 'simulate'];
const NOT_FOUND: readonly number[] = [EXIT.no, EXIT.unavailable, EXIT.config];

/**
 * What to tell somebody whose command found nothing, if `serve --dev` has run in the working directory and the
 * command did not use its settings, since there are those of another daemon.
 *
 * @param options those of the program: where settings were said to be.
 */
export function devHint(
  command: string,
  code: number,
  options: Readonly<Record<string, unknown>>,
  cwd: string,
): string | null {
  if (WITHOUT.includes(command) || !NOT_FOUND.includes(code)) return null;
  if (options.envFile !== undefined || options.config !== undefined) return null;
  if (!existsSync(join(cwd, DEV_FILE))) return null;
  return `For the daemon of \`serve --dev\` in this directory add --env-file ${DEV_FILE}.`;
}
