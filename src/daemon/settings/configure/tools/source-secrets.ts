import type { SettingRecord } from '../../../../channel/index.ts';
import { fileSetting } from '../../../../channel/setting.ts';
import type { EffectiveSetting } from '../../check.ts';
import { createProblem, type SettingProblem } from '../../problem.ts';
import type { KnownRecord } from '../../records/record.ts';
import { Secret } from '../../secret.ts';
import { isBlank, type Sources, type StructuredValue } from '../../sources.ts';
import { SECRET_NAME } from '../../tools-schema.ts';
import { ConfigNode } from '../config-node.ts';

/**
 * Records of the secrets that the entries under `tools` list, so that they are read, shown and masked like settings.
 * Invalid names and names of settings are left out: `readSourceEntries` reports them.
 * @param taken names of the settings of the daemon and of its channels.
 */
export function secretsOfSources(file: StructuredValue | undefined, taken: readonly string[]): KnownRecord[] {
  const names = listedNames(file).map(({ value }) => value);
  return [...new Set(names.filter((name) => typeof name === 'string'))]
    .filter((name) => SECRET_NAME.test(name) && !taken.includes(name))
    .map((name) => ({
      name,
      kind: 'string',
      secret: true,
      reload: true,
      sentence: 'A secret of a source of tools.',
    }));
}

/** The items of all lists of secrets. */
function listedNames(file: StructuredValue | undefined): ConfigNode[] {
  if (file === undefined) return [];
  // `readSourceEntries` reports what is not a list.
  const tools = ConfigNode.of(file, []);
  return tools.items('').flatMap((entry) => entry.child('secrets').items(''));
}

/** The secrets of tool sources, by name. Null for a secret without a usable value: the problem is reported. */
export type SourceSecrets = ReadonlyMap<string, Secret | null>;

/**
 * The values of the secrets that tool sources list. They come from the environment, from `.env` or from the file that
 * `NAME_FILE` names; a secret in the configuration file itself is a problem.
 */
export function readSourceSecrets(
  records: readonly SettingRecord[],
  effective: readonly EffectiveSetting[],
  sources: Sources,
): { secrets: SourceSecrets; problems: SettingProblem[] } {
  const problems: SettingProblem[] = [];
  const secrets = new Map<string, Secret | null>();
  for (const record of records) {
    const { name } = record;
    const right = `the secret, in the environment or in .env; or ${fileSetting(name)}, the path of a file that contains it`;
    const inFile = sources.layers.find(
      ({ kind, values, fromFile }) =>
        kind === 'file' && !isBlank(values.get(name)) && fromFile?.has(name) !== true,
    );
    const found = effective.find((setting) => setting.record === record);
    const value = found?.value instanceof Secret ? found.value : null;
    if (inFile !== undefined) {
      const problem = 'is a secret of a tool source, which must not be in the configuration file';
      problems.push({ ...createProblem(name, problem, right), source: inFile.source });
    } else if (found?.source === 'unset') {
      const listed = listedNames(sources.structured.get('tools')).find(({ value }) => value === name);
      const problem = `is not set, but ${listed?.setting} lists it`;
      problems.push({ ...createProblem(name, problem, right), source: listed?.source ?? null });
    }
    secrets.set(name, inFile === undefined ? value : null);
  }
  return { secrets, problems };
}
