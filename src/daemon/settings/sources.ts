import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Loader } from 'cosmiconfig';
import { isObject } from '../../channel/json-object.ts';
import { treeFault } from '../syntax/json.ts';
import type { LineFinder } from '../syntax/yaml-lines.ts';
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

/** Whether a value is undefined, null, or a string that contains only white space. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

export const DEFAULT_ENV_FILE = '.env';
const ENV_FILE_MAX_BYTES = 1_048_576;
const RIGHT_ENV_FILE = 'lines of the form NAME=value, at most 1 MiB';

/**
 * The settings of the named file, which must exist, or of `.env` in the working directory if it exists. Any line other
 * than NAME=value, a blank line or a comment is a problem, reported with its number.
 */
async function readEnvFile(
  cwd: string,
  named: string | undefined,
): Promise<{ layer: Layer | null; problems: SettingProblem[] }> {
  const source = named ?? DEFAULT_ENV_FILE;
  const path = resolve(cwd, source);
  const refuse = (problem: string, right = RIGHT_ENV_FILE) => ({
    layer: null,
    problems: [{ setting: source, value: null, source: null, problem, right }],
  });

  let text: string;
  try {
    if ((await stat(path)).size > ENV_FILE_MAX_BYTES) return refuse('is larger than 1 MiB');
    text = (await readFile(path, 'utf8')).replace(/^\u{feff}/u, '').replaceAll('\r\n', '\n');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && named === undefined) return { layer: null, problems: [] };
    return refuse(`cannot be read (${code})`, `the path of a readable file, relative to ${cwd}`);
  }
  return {
    layer: { source, path, kind: 'env-file', values: new Map(Object.entries(parseEnv(text))) },
    problems: strayLines(text).map((line) => ({
      setting: `${source}:${line}`,
      value: null,
      source: null,
      problem: 'is neither NAME=value, nor a comment, nor blank',
      right: RIGHT_ENV_FILE,
    })),
  };
}

/**
 * The numbers of lines that `parseEnv` would silently skip. The lines are not quoted, because they may contain secrets.
 */
function strayLines(text: string): number[] {
  const stray: number[] = [];
  let openQuote: string | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    if (openQuote !== null) {
      if (line.includes(openQuote)) openQuote = null;
      continue;
    }
    if (/^\s*(#|$)/.test(line)) continue;
    const value = /^\s*(?:export\s+)?[\w.-]+\s*=\s*(.*)$/.exec(line)?.[1];
    if (value === undefined) {
      stray.push(index + 1);
      continue;
    }
    const quote = /^["'`]/.exec(value)?.[0];
    if (quote !== undefined && !value.slice(1).includes(quote)) openQuote = quote;
  }
  return stray;
}

/**
 * The file names that are searched first. After them, the default places of cosmiconfig for a program called `agentd`
 * are searched.
 */
const OWN_PLACES = ['agentd.yaml', 'agentd.yml', 'agentd.json'];
const RIGHT_PLUGIN =
  'a path relative to the file (`./channels/telex.ts`), the name of an installed package, or { path, name }';

interface ConfigFile {
  layer: Layer | null;
  /** The folder of the file; the working directory if there is none. */
  folder: string;
  plugins: readonly PluginEntry[];
  /** By key: the values of the structured keys in the file, as they were read. */
  structured: ReadonlyMap<string, StructuredValue>;
  problems: SettingProblem[];
}

/** Maximum number of values in the file. Aliases can repeat values without end. */
const VALUES_MAX = 100_000;

/** Keys whose values have a structure. The code that uses such a value checks it (src/daemon/settings/configure). */
const STRUCTURED_KEYS: readonly string[] = ['tools', 'agents', 'texts'];

/**
 * Reads the configuration file: the named file, which must exist, or the first file that is found in the working
 * directory. It contains settings under their names, with native values. `plugins` is a list of paths or package names,
 * or of objects `{ path, name }`. The values of the other structured keys are collected unchanged.
 */
async function readConfigFile(cwd: string, named: string | undefined): Promise<ConfigFile> {
  const none: ConfigFile = { layer: null, folder: cwd, plugins: [], structured: new Map(), problems: [] };
  const refuse = (setting: string, problem: string, right: string) => ({
    ...none,
    problems: [{ setting, value: null, source: null, problem, right }],
  });

  const { cosmiconfig, defaultLoaders, getDefaultSearchPlaces } = await import('cosmiconfig');
  // For a YAML parser, a file with only comments is an error, but the example configuration has only comments.
  let text = '';
  const keepText =
    (load: Loader): Loader =>
    (path, content) => {
      // In a package.json the settings are below a key, so a setting's path does not lead to its line.
      text = basename(path).startsWith('package.') ? '' : content;
      return load(path, content);
    };
  const yaml = keepText((path, content) =>
    isOnlyComments(content) ? {} : defaultLoaders['.yaml'](path, content),
  );
  const json = keepText(defaultLoaders['.json']);
  const explorer = cosmiconfig('agentd', {
    searchPlaces: [...OWN_PLACES, ...getDefaultSearchPlaces('agentd')],
    loaders: { '.yaml': yaml, '.yml': yaml, '.json': json, noExt: yaml },
    cache: false,
  });
  let found: { config: unknown; filepath: string; isEmpty?: boolean } | null;
  try {
    found = await (named === undefined ? explorer.search(cwd) : explorer.load(resolve(cwd, named)));
  } catch (error) {
    const path = (error as { filepath?: unknown }).filepath;
    const place = named ?? (typeof path === 'string' ? relative(cwd, path) : 'the configuration file');
    return refuse(place, await whyUnreadable(error), 'a readable JSON, YAML, JavaScript or TypeScript file');
  }
  if (found === null || found.isEmpty) return none;

  const source = named ?? (relative(cwd, found.filepath) || found.filepath);
  if (!isObject(found.config)) {
    return refuse(source, 'is not an object at its top level', 'one object: names and values of settings');
  }
  const fault = treeFault(found.config, VALUES_MAX);
  if (fault !== null) return refuse(source, fault, 'fewer values, written out where an alias repeats them');
  const { plugins = null, $schema: _schema, ...rest } = found.config;
  const folder = dirname(found.filepath);
  const isStructured = ([name]: [string, unknown]) => STRUCTURED_KEYS.includes(name);
  const values = Object.entries(rest).filter((entry) => !isStructured(entry));
  const structures = Object.entries(rest).filter(isStructured);
  // Loaded only if needed: most commands run without such a key.
  const findLine =
    structures.length === 0 ? null : (await import('../syntax/yaml-lines.ts')).createLineFinder(text);
  const structured = structures.map(
    ([key, value]) => [key, { key, value, source, folder, findLine: findLine ?? (() => null) }] as const,
  );
  const problems: SettingProblem[] = [];
  return {
    layer: { source, path: found.filepath, kind: 'file', values: new Map(values) },
    folder,
    plugins: pluginEntries(plugins, folder, source, problems),
    structured: new Map(structured),
    problems,
  };
}

function pluginEntries(
  list: unknown,
  folder: string,
  source: string,
  problems: SettingProblem[],
): PluginEntry[] {
  if (list === null) return [];
  const refuse = (setting: string, problem: string) => {
    problems.push({ setting, value: null, source, problem, right: RIGHT_PLUGIN });
  };
  if (!Array.isArray(list)) {
    refuse('plugins', 'is not a list');
    return [];
  }
  return list.flatMap((item: unknown, index) => {
    const { path, name, ...rest } = typeof item === 'string' ? { path: item } : isObject(item) ? item : {};
    const setting = `plugins[${index}]`;
    const [stranger] = Object.keys(rest);
    if (typeof path !== 'string' || path.trim() === '') refuse(setting, 'has no `path`');
    else if (name !== undefined && typeof name !== 'string')
      refuse(setting, 'has a `name` that is not a string');
    else if (stranger !== undefined) refuse(setting, `has the unknown member \`${stranger}\``);
    else return [{ path: path.trim(), folder, setting, source, ...(name === undefined ? {} : { name }) }];
    return [];
  });
}

/** The reason in words, with the line if the parser gave it. */
async function whyUnreadable(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return `cannot be read: ${String(error)}`;
  const { code, filepath, mark } = error as NodeJS.ErrnoException & { filepath?: string; mark?: Mark };
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EISDIR') return `cannot be read (${code})`;
  // The first line of the message is from cosmiconfig, and the second is the parser's reason. The lines after it quote
  // the file, which may contain secrets.
  const [, reason = error.message] = error.message.split('\n');
  const line = typeof mark?.line === 'number' ? mark.line + 1 : await lineOfJsonError(filepath, reason);
  const where = line === null ? '' : ` in line ${line}`;
  return `cannot be read: there is a mistake${where}: ${withoutQuotes(reason)}`;
}

interface Mark {
  /** Counted from 0. */
  line?: unknown;
}

/** `JSON.parse` names a position in characters or, in a later Node, a line. */
async function lineOfJsonError(filepath: string | undefined, reason: string): Promise<number | null> {
  const line = /\bline (\d+)/.exec(reason)?.[1];
  if (line !== undefined) return Number(line);
  const position = /\bposition (\d+)/.exec(reason)?.[1];
  if (position === undefined || filepath === undefined) return null;
  return (await readFile(filepath, 'utf8')).slice(0, Number(position)).split('\n').length;
}

/** `JSON.parse` quotes the text around a mistake: `Unexpected token 'x', ..."KEY": x"... is not valid JSON`. */
function withoutQuotes(reason: string): string {
  return reason.replace(/, (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/s, '').replace(/ \(\d+:\d+\)$/, '');
}

function isOnlyComments(text: string): boolean {
  return !/^[ \t]*[^#\s]/m.test(text);
}
