import { readFile } from 'node:fs/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import type { Loader } from 'cosmiconfig';
import { isObject } from '../../channel/json-object.ts';
import { treeFault } from '../syntax/json.ts';
import { createProblem, type SettingProblem } from './problem.ts';
import type { Layer, PluginEntry, Sources } from './sources.ts';

/**
 * The file names that are searched first. After them, the default places of cosmiconfig for a program called `agentd`
 * are searched.
 */
const OWN_PLACES = ['agentd', 'agentd.config'].flatMap((name) =>
  ['yaml', 'yml', 'json'].map((type) => `${name}.${type}`),
);
const RIGHT_PLUGIN =
  'a path relative to the file (`./channels/telex.ts`), the name of an installed package, or { path, name }';

interface ConfigFile extends Pick<Sources, 'folder' | 'plugins' | 'structured'> {
  layer: Layer | null;
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
export async function readConfigFile(cwd: string, named: string | undefined): Promise<ConfigFile> {
  const none: ConfigFile = { layer: null, folder: cwd, plugins: [], structured: new Map(), problems: [] };
  const refuse = (setting: string, problem: string, right: string) => ({
    ...none,
    problems: [createProblem(setting, problem, right)],
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
