import { join, resolve } from 'node:path';
import type { AgentEntry } from '../../agents/agent-entry.ts';
import { listedKeys } from '../../identity/keys.ts';
import type { SourceEntry } from '../../tools/source-entry.ts';
import type { Validation } from '../check.ts';
import { DEFAULT_ENV_FILE } from '../env-file.ts';
import { createProblem, type SettingProblem } from '../problem.ts';
import type { ConfigLocation, Layer, Sources } from '../sources.ts';

/** The absolute paths of the files that a configuration consists of. Some of them may not exist. */
export interface ConfigurationFiles {
  /** The files with settings and secrets. Their content is in the configuration itself. */
  read: readonly string[];
  /** The files that settings name: instructions, public keys, documents and modules of tools. */
  named: readonly string[];
  /** The env file and the configuration file, each if it sets anything. */
  setting: readonly SettingFile[];
}

type SettingFile = Pick<Layer, 'kind' | 'source'>;

/** The usual name of the configuration file, which may be written while a daemon runs. */
const USUAL_FILE = 'agentd.yaml';

export function listFiles({
  sources,
  tools,
  agents,
  validation,
  location: { cwd, envFile },
}: {
  sources: Sources;
  tools: readonly SourceEntry[];
  agents: readonly AgentEntry[];
  validation: Pick<Validation, 'value'>;
  location: ConfigLocation;
}): ConfigurationFiles {
  const { layers } = sources;
  const paths = layers.flatMap(({ path, fromFile }) => [
    ...(path ? [path] : []),
    ...(fromFile?.values() ?? []),
  ]);
  const absent = [
    ...(layers.some(({ kind }) => kind === 'file') ? [] : [join(cwd, USUAL_FILE)]),
    ...(envFile === undefined && !layers.some(({ kind }) => kind === 'env-file')
      ? [join(cwd, DEFAULT_ENV_FILE)]
      : []),
  ];
  const named = [
    ...pathIn(validation.value('AGENT_INSTRUCTIONS')),
    ...agents.flatMap(({ instructions }) => pathIn(instructions)),
    ...listedKeys(validation.value('JWT_PUBLIC_KEY') ?? '').flatMap(pathIn),
  ].map((path) => resolve(cwd, path));
  return {
    read: [...new Set([...paths, ...absent])],
    named: [...new Set([...named, ...tools.flatMap(listEntryFiles)])],
    setting: settingFiles(sources),
  };
}

function settingFiles({ layers, structured, plugins }: Sources): SettingFile[] {
  const inFile = [...structured.values(), ...plugins].map(({ source }) => source);
  return layers
    .filter(({ kind }) => kind === 'env-file' || kind === 'file')
    .filter(({ values, source }) => values.size > 0 || inFile.includes(source))
    .map(({ kind, source }) => ({ kind, source }));
}

/**
 * A file that sets nothing any more, while a daemon runs with its settings. It is probably being replaced, or is lost;
 * without its settings, the daemon could check less than before, such as no issuer of tokens.
 */
export function missingFiles(
  sources: Sources,
  { files: { setting } }: { files: Pick<ConfigurationFiles, 'setting'> },
): SettingProblem[] {
  // A file that cannot be read has its own problem.
  if (sources.problems.length > 0) return [];
  const present = new Set(settingFiles(sources).map(({ kind }) => kind));
  return setting
    .filter(({ kind }) => !present.has(kind))
    .map(({ source }) =>
      createProblem(
        source,
        'is missing or empty, but the daemon runs with its settings',
        'a file with settings; a restart does without it',
      ),
    );
}

/** Longest path, in characters. Longer values are texts. */
const PATH_MAX = 1024;

/** The value if it may be a path, and not a text or a key. */
function pathIn(value: string | undefined): string[] {
  const path = (value ?? '').trim();
  return path === '' || path.length > PATH_MAX || path.includes('\n') || path.includes('-----') ? [] : [path];
}

function listEntryFiles(entry: SourceEntry): string[] {
  if (entry.kind === 'openapi') return [entry.path];
  return entry.kind === 'module' && /^[./]/.test(entry.module) ? [resolve(entry.folder, entry.module)] : [];
}
