import type { LineFinder } from '../yaml-lines.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { readEnvFile } from './env-file.ts';
import type { SettingProblem } from './problem.ts';

/** The source, in words, of what `serve --dev` makes up. */
export const DEV_SOURCE = 'serve --dev';

/** Where settings are looked for. */
export interface Place {
  env: NodeJS.ProcessEnv;
  /** Absolute; `.env`, the configuration file and relative paths in values are looked for here. */
  cwd: string;
  /** `--env-file`: read instead of `.env`; must exist. */
  envFile?: string | undefined;
  /** `--config`: read instead of the file that is found; must exist. */
  configFile?: string | undefined;
  /** Values of settings that nothing else sets (`serve --dev`). */
  defaults?: Readonly<Record<string, string>>;
  /** Structured keys that hold if the configuration file does not have them (`serve --dev`). */
  structured?: readonly StructuredValue[];
}

/** All values of one place, by name. */
export interface Layer {
  /** In words, as it is shown: `environment`, `.env`, `agentd.yaml`. */
  source: string;
  /** Other programs' names live in an environment; in a file every name must be known. */
  kind: 'environment' | 'env-file' | 'file' | 'defaults';
  values: ReadonlyMap<string, unknown>;
  /** Of the file; absent for what is no file. */
  path?: string;
  /** By name: the files that secrets were read from, which `NAME_FILE` names (secret-files.ts); absolute. */
  fromFile?: ReadonlyMap<string, string>;
}

/** The value of a secret whose file cannot be used: something was given, and the problem with it is reported. */
export const UNREADABLE = Symbol('unreadable');

/** One entry under `plugins` of the configuration file, or a path in `MESSAGING_PLATFORMS`. */
export interface PluginEntry {
  /** A path, or the name of an installed package. */
  path: string;
  /** What it must be called. */
  name?: string;
  /** The folder that the path is seen from. */
  folder: string;
  /** Where it stands, for problems: `plugins[0]`, and the source in words. */
  setting: string;
  source: string;
}

/** The value of a structured key of the configuration file, as it was read. Nothing in it is checked. */
export interface StructuredValue {
  key: string;
  value: unknown;
  /** The file, in words: `agentd.yaml`. */
  source: string;
  /** The folder of the file; relative paths in the value are relative to it. */
  folder: string;
  /** Finds the line of a value in the file, by its path from the top; null in a file that is a program. */
  lineOf: LineFinder;
}

export interface Sources {
  /** The first that has a value wins. */
  layers: readonly Layer[];
  plugins: readonly PluginEntry[];
  /** By key; only the keys that the configuration file has. */
  structured: ReadonlyMap<string, StructuredValue>;
  /** The folder of the configuration file; the working directory if there is none. */
  folder: string;
  /** Files that cannot be read, or read in full. */
  problems: readonly SettingProblem[];
}

/** A value as it came. */
export interface Given {
  value: unknown;
  layer: Layer;
  /** In words: that of the layer, with the name of the setting that names the file. */
  source: string;
  /** Of a secret that was read from a file: that file. */
  file?: string;
}

/**
 * Reads the environment over `.env` over the configuration file (agentd-settings(5), "Description"). Never throws for
 * their content.
 */
export async function readSources({
  env,
  cwd,
  envFile,
  configFile,
  defaults = {},
  structured = [],
}: Place): Promise<Sources> {
  const [dotenv, file]: [Awaited<ReturnType<typeof readEnvFile>>, ConfigFile] = await Promise.all([
    readEnvFile(cwd, envFile),
    readConfigFile(cwd, configFile),
  ]);
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
  };
}

/**
 * Node reads an `--env-file` anywhere on the command line, and puts it into the environment before the program
 * begins: what stands in both alike is the file's.
 */
function environment(env: NodeJS.ProcessEnv, named: Layer | null): ReadonlyMap<string, unknown> {
  return new Map(
    Object.entries(env).filter(([name, value]) => named === null || named.values.get(name) !== value),
  );
}

/** The value that holds for a name. An empty one counts as not given: it is how a shell or a form says nothing. */
export function given({ layers }: Sources, name: string): Given | undefined {
  for (const layer of layers) {
    const value = layer.values.get(name);
    if (isBlank(value)) continue;
    const file = layer.fromFile?.get(name);
    if (file === undefined) return { value, layer, source: layer.source };
    return { value, layer, source: `${layer.source}, ${name}_FILE`, file };
  }
  return undefined;
}

/** Undefined, null, or a text of nothing but white space. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}
