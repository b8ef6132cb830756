import { digestRecord } from '../tools/definition-digest.ts';
import { canonicalJson } from '../tools/schema/read-arguments.ts';
import type { Revision } from './revision.ts';

/** What differs between two revisions. All values are names; no value of a setting is in it. */
export interface RevisionChanges {
  /** Settings, and structured keys of the configuration file. */
  settings: readonly string[];
  /** Paths of files that settings name: instructions, public keys, documents and modules of tools. */
  files: readonly string[];
  /** Names of tools. A tool has changed if its description, its schema, its policy or its address has. */
  tools: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>>;
}

export function compareRevisions(before: Revision, after: Revision): RevisionChanges {
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
    tools: compareTools(toolsOf(before), toolsOf(after)),
  };
}

type Digests = ReadonlyMap<string, string>;

function compareTools(before: Digests, after: Digests): RevisionChanges['tools'] {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after.keys()].filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  };
}

function toolsOf({ services: { tools } }: Revision): Digests {
  return new Map(tools.tools().map((tool) => [tool.name, digestRecord(tool)]));
}

export function isEmpty({ settings, files, tools }: RevisionChanges): boolean {
  return [settings, files, ...Object.values(tools)].every(({ length }) => length === 0);
}
