import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_ENV_FILE } from '../daemon/admin/settings.ts';
import { printable } from '../daemon/admin/texts.ts';
import type { OptionValues } from './command.ts';
import { EXIT } from './exit-codes.ts';

/**
 * A hint for a command with a wrong configuration, if a `.env` next to the file that `--config` names was not read. The
 * `.env` file is looked up in the working directory only.
 */
export function envFileHint(code: number, { config, envFile }: OptionValues, cwd: string): string | null {
  if (code !== EXIT.config || typeof config !== 'string' || envFile !== undefined) return null;
  const folder = dirname(config);
  const path = join(folder, DEFAULT_ENV_FILE);
  if (resolve(cwd, folder) === resolve(cwd) || !existsSync(resolve(cwd, path))) return null;
  return `${printable(path)} was not read, since it is not in the working directory. To use it, add --env-file ${printable(path)}.`;
}
