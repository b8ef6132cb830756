import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of this package, found from the sources and from the build. */
export function packageFolder(): string {
  for (const up of ['../../../', '../../../../']) {
    const url = new URL(up, import.meta.url);
    if (existsSync(new URL('package.json', url))) return fileURLToPath(url);
  }
  throw new Error('cannot find the package.json of this program');
}
