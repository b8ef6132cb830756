import { stat } from 'node:fs/promises';
import type { SettingRecord } from '../../channel/index.ts';
import { isBlank, type Sources } from './sources.ts';

const READABLE_BY_OTHERS = 0o044;

/** A warning for each file of settings that contains a secret and that users other than its owner can read. */
export async function looseFileWarnings(
  { layers }: Sources,
  records: readonly SettingRecord[],
): Promise<string[]> {
  const warnings: string[] = [];
  for (const { path, source, values, fromFile } of layers) {
    if (path === undefined) continue;
    const held = records
      .filter(({ name, secret }) => secret && !isBlank(values.get(name)) && !fromFile?.has(name))
      .map(({ name }) => name);
    if (held.length === 0) continue;
    const { mode } = await stat(path);
    if ((mode & READABLE_BY_OTHERS) === 0) continue;
    const shown = (mode & 0o777).toString(8).padStart(4, '0');
    warnings.push(
      `${source} contains ${held.join(', ')}, and other users of this machine can read it (mode ${shown}); run: chmod 600 ${path}`,
    );
  }
  return warnings;
}
