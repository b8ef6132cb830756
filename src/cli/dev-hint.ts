import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from './exit-codes.ts';

/** Where `serve --dev` keeps its settings for other terminals, as seen from its working directory. */
export const DEV_FILE = '.agentd/env';

/** These find the settings of `serve --dev` by themselves, or make them. */
const WITHOUT = ['serve', 'simulate'];
const NOT_FOUND: readonly number[] = [EXIT.no, EXIT.unavailable, EXIT.config];

/**
 * What to tell somebody whose command found nothing, where `serve --dev` has run in the working directory and
 * the command did not take its settings.
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
