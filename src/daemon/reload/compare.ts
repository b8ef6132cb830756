import type { ReloadChanges } from '../store/reloads.ts';
import { digestRecord } from '../tools/definition-digest.ts';
import { canonicalJson } from '../tools/schema/read-arguments.ts';
import type { Revision } from './revision.ts';

/** What differs between two revisions. */
export function compareRevisions(before: Revision, after: Revision): ReloadChanges {
  const { compared, structured } = after.configuration;
  const keys = [...new Set([...before.configuration.structured.keys(), ...structured.keys()])];
  const isChanged = (key: string) =>
    canonicalJson(before.configuration.structured.get(key) ?? null) !==
    canonicalJson(structured.get(key) ?? null);
  const paths = [...new Set([...before.files.keys(), ...after.files.keys()])];
  // A file that only one of them names is a new value of its setting.
  const isOther = (path: string) =>
    before.files.has(path) && after.files.has(path) && before.files.get(path) !== after.files.get(path);
  return {
    settings: [...compared.changed, ...keys.filter(isChanged)],
    files: paths.filter(isOther),
    tools: compareTools(digestTools(before), digestTools(after)),
  };
}

type Digests = ReadonlyMap<string, string>;

function compareTools(before: Digests, after: Digests): ReloadChanges['tools'] {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after.keys()].filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  };
}

function digestTools({ registry }: Revision): Digests {
  return new Map(registry.tools().map((tool) => [tool.name, digestRecord(tool)]));
}

export const NO_CHANGES: ReloadChanges = {
  settings: [],
  files: [],
  tools: { added: [], removed: [], changed: [] },
};

export function isEmpty({ settings, files, tools }: ReloadChanges): boolean {
  return [settings, files, ...Object.values(tools)].every(({ length }) => length === 0);
}
