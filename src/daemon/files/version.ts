import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Read when the program starts, because an upgrade replaces the file while the daemon runs. */
const manifest = JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as {
  version: string;
};

/** The build writes this file next to the built module. Sources have none. */
const file = new URL('commit.txt', import.meta.url);
const built = existsSync(file) ? readFileSync(file, 'utf8') : '';

/** The commit from which this program was built, with `-dirty` if files were changed; null if it is unknown. */
export function commit(): string | null {
  return built === '' ? null : built;
}

/** The version of this program, from its package.json. */
export function version(): string {
  return manifest.version;
}

/** The folder of this package, found from the sources and from the build. */
export function packageFolder(): string {
  for (const up of ['../../../', '../../../../']) {
    const url = new URL(up, import.meta.url);
    if (existsSync(new URL('package.json', url))) return fileURLToPath(url);
  }
  throw new Error('cannot find the package.json of this program');
}
