import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SettingRecord } from '../../channel/index.ts';
import { fileSetting } from '../../channel/setting.ts';
import type { SettingProblem } from './problem.ts';
import { findGiven, isBlank, type Layer, type Sources, UNREADABLE } from './sources.ts';

/** Maximum size of a file. A list of keys is far shorter. */
const MAX_BYTES = 65_536;

/** The `NAME_FILE` settings of the secrets among these records. */
export function fileSettings(records: readonly SettingRecord[]): string[] {
  return records.filter(({ secret }) => secret).map(({ name }) => fileSetting(name));
}

/**
 * If `NAME_FILE` names a file, adds its content to the sources as the value of the secret `NAME`, as is usual for
 * container secrets and systemd credentials. One trailing line break of the content is not part of the value. A
 * relative path in the configuration file is relative to that file; any other is relative to the working directory. A
 * file that cannot be read is a problem. It is also a problem if one source has both `NAME` and `NAME_FILE`.
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
    const setting = fileSetting(name);
    for (const layer of layers) {
      const named = layer.values.get(setting);
      if (isBlank(named)) continue;
      if (!isBlank(layer.values.get(name))) {
        problems.push({
          ...createProblem(setting, layer, named),
          problem: `is set together with ${name} in the same source`,
          right: `${name} or ${setting}, not both`,
        });
        continue;
      }
      const folder = layer.kind === 'file' ? sources.folder : cwd;
      layer.values.set(name, UNREADABLE);
      layer.fromFile = new Map(layer.fromFile).set(name, resolve(folder, String(named).trim()));
      // A source with priority over this one sets the secret, so the file need not be readable.
      if (findGiven(resolved, name)?.layer !== layer) continue;
      const reading = await read(named, folder);
      if ('problem' in reading) problems.push({ ...createProblem(setting, layer, named), ...reading });
      else layer.values.set(name, reading.value);
    }
  }
  return { ...resolved, problems: [...sources.problems, ...problems] };
}

/** Somebody may have entered the secret itself, so the value is shown only if it is clearly a path. */
function createProblem(setting: string, { source }: Layer, named: unknown) {
  const isPath = typeof named === 'string' && /^\s*\.{0,2}\//.test(named);
  return { setting, value: isPath ? named : null, source };
}

async function read(
  named: unknown,
  folder: string,
): Promise<{ value: string } | { problem: string; right: string }> {
  const right = `the path of a file, relative to ${folder}, that contains the secret and nothing else`;
  if (typeof named !== 'string') return { problem: 'is not a path', right };
  const path = resolve(folder, named.trim());
  try {
    const found = await stat(path);
    // A pipe could be read only once, and would delay the start until somebody writes to it.
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
