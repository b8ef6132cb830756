import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SettingRecord } from '../../channel/index.ts';
import type { SettingProblem } from './problem.ts';
import { given, isBlank, type Layer, type Sources, UNREADABLE } from './sources.ts';

/** Longest content; a list of keys is far shorter. */
const MAX_BYTES = 65_536;

/** The setting that names the file of a secret: `JWT_SECRET_KEY_FILE`. */
export function fileSettingOf(secret: string): string {
  return `${secret}_FILE`;
}

/** The names under which the secrets among these records may be given as files. */
export function fileSettings(records: readonly SettingRecord[]): string[] {
  return records.filter(({ secret }) => secret).map(({ name }) => fileSettingOf(name));
}

/**
 * The sources with the content of each file that `NAME_FILE` names as the value of the secret `NAME`, as
 * container secrets and systemd credentials are given. One trailing line break of the content is not part of
 * the value. A relative path is seen from the configuration file that holds it, elsewhere from the working
 * directory. A file that cannot be read is a problem, and so are `NAME` and `NAME_FILE` in one source.
 */
export async function readSecretFiles(
  sources: Sources,
  records: readonly SettingRecord[],
  cwd: string,
): Promise<Sources> {
  const problems: SettingProblem[] = [];
  const layers = sources.layers.map((layer) => ({ ...layer, values: new Map(layer.values) }));
  const resolved: Sources = { ...sources, layers };
  for (const { name, secret } of records) {
    if (!secret) continue;
    const setting = fileSettingOf(name);
    for (const layer of layers) {
      const named = layer.values.get(setting);
      if (isBlank(named)) continue;
      if (!isBlank(layer.values.get(name))) {
        problems.push({
          ...problemOf(setting, layer, named),
          problem: `is set beside ${name} in the same source`,
          right: `${name} or ${setting}, not both`,
        });
        continue;
      }
      const folder = layer.kind === 'file' ? sources.folder : cwd;
      layer.values.set(name, UNREADABLE);
      layer.fromFile = new Map(layer.fromFile).set(name, resolve(folder, String(named).trim()));
      // A source that wins over this one: the file is not needed, and need not be readable.
      if (given(resolved, name)?.layer !== layer) continue;
      const reading = await read(named, folder);
      if ('problem' in reading) problems.push({ ...problemOf(setting, layer, named), ...reading });
      else layer.values.set(name, reading.value);
    }
  }
  return { ...resolved, problems: [...sources.problems, ...problems] };
}

/** Somebody may have put the secret itself there, so only what is clearly a path is shown. */
function problemOf(setting: string, { source }: Layer, named: unknown) {
  const isPath = typeof named === 'string' && /^\s*\.{0,2}\//.test(named);
  return { setting, value: isPath ? named : null, source };
}

async function read(
  named: unknown,
  folder: string,
): Promise<{ value: string } | { problem: string; right: string }> {
  const right = `the path of a file, as seen from ${folder}, that holds the secret and nothing else`;
  if (typeof named !== 'string') return { problem: 'is not a path', right };
  const path = resolve(folder, named.trim());
  try {
    const found = await stat(path);
    // A pipe could be read once only, and would hold up the start until somebody writes to it.
    if (!found.isFile()) return { problem: 'is not the path of a regular file', right };
    if (found.size > MAX_BYTES) return { problem: `is a file of more than ${MAX_BYTES / 1024} KiB`, right };
    const value = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      .decode(await readFile(path))
      .replace(/\r?\n$/, '');
    if (isBlank(value)) return { problem: 'is an empty file', right };
    return { value };
  } catch (error) {
    if (error instanceof TypeError) return { problem: 'is a file that is not UTF-8 text', right };
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return { problem: `is a file that cannot be read (${code})`, right };
  }
}
