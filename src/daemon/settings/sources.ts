import type { LineFinder } from '../syntax/yaml-lines.ts';
import { readConfigFile } from './config-file.ts';
import { readEnvFile } from './env-file.ts';
import type { SettingProblem } from './problem.ts';

/** The source, in words, of the settings that `serve --dev` generates. */
export const DEV_SOURCE = 'serve --dev';

/** Where settings are looked for. */
export interface ConfigLocation {
  env: NodeJS.ProcessEnv;
  /** An absolute path. `.env`, the configuration file and relative paths in values are looked up here. */
  cwd: string;
  /** `--env-file`: the file that is read instead of `.env`. It must exist. */
  envFile?: string | undefined;
  /** `--config`: the configuration file, which must exist. If absent, the usual places are searched. */
  configFile?: string | undefined;
  /** Values of settings that nothing else sets (`serve --dev`). */
  defaults?: Readonly<Record<string, string>>;
  /** Structured keys that are used if the configuration file does not have them (`serve --dev`). */
  structured?: readonly StructuredValue[];
}

/** All values of one source, by name. */
export interface Layer {
  /** The source in words, as it is shown: `environment`, `.env`, `agentd.yaml`. */
  source: string;
  /** An environment also has variables of other programs. In a file every name must be known. */
  kind: 'environment' | 'env-file' | 'file' | 'defaults';
  values: ReadonlyMap<string, unknown>;
  /** The path of the file. Absent if the source is not a file. */
  path?: string;
  /** The absolute paths of the files from which secrets were read, by the name of the secret (secret-files.ts). */
  fromFile?: ReadonlyMap<string, string>;
}

/** The value of a secret whose file cannot be used. The problem has been reported. */
export const UNREADABLE = Symbol('unreadable');

/** One entry under `plugins` of the configuration file. */
export interface PluginEntry {
  /** A path, or the name of an installed package. */
  path: string;
  /** The name that the channel must have. */
  name?: string;
  /** The folder that the path is relative to. */
  folder: string;
  /** Where the entry is, for problems: `plugins[0]`, and the source in words. */
  setting: string;
  source: string;
}

/** The value of a structured key of the configuration file, as it was read. It is not checked. */
export interface StructuredValue {
  key: string;
  value: unknown;
  /** The file, in words: `agentd.yaml`. */
  source: string;
  /** The folder of the file; relative paths in the value are relative to it. */
  folder: string;
  /** Finds the line of a value in the file, by its path from the top; null in a file that is a program. */
  findLine: LineFinder;
}

export interface Sources {
  /** The layers by priority: the first one that has a value is used. */
  layers: readonly Layer[];
  plugins: readonly PluginEntry[];
  /** By key; only the keys that the configuration file or `serve --dev` provides. */
  structured: ReadonlyMap<string, StructuredValue>;
  /** The folder of the configuration file; the working directory if there is none. */
  folder: string;
  /** Problems with files that cannot be read completely. */
  problems: readonly SettingProblem[];
  /** Whether a file cannot be read at all: settings that seem to be missing may be in it. */
  lacksFile: boolean;
}

/** A value as it was given. */
export interface Given {
  value: unknown;
  layer: Layer;
  /** The source of the layer, in words. For a secret from a file, the name of its `NAME_FILE` setting is added. */
  source: string;
  /** The file, if a secret was read from one. */
  file?: string;
}

/**
 * Reads the environment, `.env` and the configuration file, in this order of precedence (agentd-settings(5),
 * "Description"). Never throws because of their content.
 */
export async function readSources({
  env,
  cwd,
  envFile,
  configFile,
  defaults = {},
  structured = [],
}: ConfigLocation): Promise<Sources> {
  const [dotenv, file] = await Promise.all([readEnvFile(cwd, envFile), readConfigFile(cwd, configFile)]);
  const layers: (Layer | null)[] = [
    { source: 'environment', kind: 'environment', values: environment(env, envFile ? dotenv.layer : null) },
    dotenv.layer,
    file.layer,
    { source: DEV_SOURCE, kind: 'defaults', values: new Map(Object.entries(defaults)) },
  ];
  return {
    layers: layers.filter((layer) => layer !== null),
    plugins: file.plugins,
    structured: new Map([...structured.map((one) => [one.key, one] as const), ...file.structured]),
    folder: file.folder,
    problems: [...dotenv.problems, ...file.problems],
    lacksFile: [dotenv, file].some(({ layer, problems }) => layer === null && problems.length > 0),
  };
}

/**
 * Node.js reads an `--env-file` anywhere on the command line, and puts it into the environment before the program
 * begins. So a value that is the same in the environment and in the file counts as a value of the file.
 */
function environment(env: NodeJS.ProcessEnv, named: Layer | null): ReadonlyMap<string, string | undefined> {
  return new Map(
    Object.entries(env).filter(([name, value]) => named === null || named.values.get(name) !== value),
  );
}

/**
 * The environment without the values that Node.js has put into it from the file of `--env-file`. A daemon that reads its
 * settings again gets them from the file, which may have changed.
 */
export async function withoutEnvFile({ env, cwd, envFile }: ConfigLocation): Promise<NodeJS.ProcessEnv> {
  if (envFile === undefined) return { ...env };
  return Object.fromEntries(environment(env, (await readEnvFile(cwd, envFile)).layer));
}

/**
 * The effective value for a name. An empty value counts as not given, because scripts and forms often set an
 * empty value instead of none.
 */
export function findGiven({ layers }: Sources, name: string): Given | undefined {
  for (const layer of layers) {
    const value = layer.values.get(name);
    if (isBlank(value)) continue;
    const file = layer.fromFile?.get(name);
    if (file === undefined) return { value, layer, source: layer.source };
    return { value, layer, source: `${layer.source}, ${name}_FILE`, file };
  }
  return undefined;
}

/** Whether a value is undefined, null, or a string that contains only white space. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}
