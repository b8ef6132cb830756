import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './package-folder.ts';

/** Read when the program starts, because an upgrade replaces the file while the daemon runs. */
const manifest = JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as {
  version: string;
};

/** The version of this program, from its package.json. */
export function version(): string {
  return manifest.version;
}
