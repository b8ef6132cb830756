import { existsSync, readFileSync } from 'node:fs';

/** The version of this program, from its package.json; that lies higher from dist/ than from the sources. */
export function version(): string {
  for (const up of ['../../package.json', '../../../package.json']) {
    const url = new URL(up, import.meta.url);
    if (existsSync(url)) return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version;
  }
  throw new Error('package.json is missing beside the program');
}
