import { namesMeant, RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { checkPlugin } from '../../channel/check-plugin.ts';
import { type Refusal, unfit } from '../../channel/fit.ts';
import type { ChannelPlugin, ChannelSettings } from '../../channel/index.ts';
import type { SettingProblem } from '../settings/problem.ts';
import { SETTINGS } from '../settings/settings.ts';
import type { PluginEntry } from '../settings/sources.ts';
import { readValue } from '../settings/value.ts';
import { bundledPlugins, importPlugin } from './import-plugin.ts';
import { provideContracts } from './modules/import-module.ts';
import { isPath, type Located, locatePackage, locatePath } from './modules/locate-module.ts';

/** Third parties publish the channel `telex` as the package `agentd-channel-telex`. */
const PACKAGE_PREFIX = 'agentd-channel-';

/** A plugin that fits the contract. */
interface LoadedPlugin {
  plugin: ChannelPlugin;
  /** The origin of the plugin, in words: `bundled`, a path, or `package …`. */
  from: string;
}

export interface PluginSearch {
  /** The entries under `plugins` of the configuration file. */
  entries: readonly PluginEntry[];
  /** The items of `MESSAGING_PLATFORMS` (names and paths) and their source; null if it is not set. */
  platforms: { items: readonly string[]; folder: string; source: string } | null;
  /**
   * Folders whose `node_modules` may have a package: the folder of the configuration file, and the working directory.
   */
  folders: readonly string[];
}

export interface LoadedPlugins {
  /**
   * Bundled plugins first, then plugins of the configuration file, then plugins that only MESSAGING_PLATFORMS names.
   */
  plugins: readonly LoadedPlugin[];
  /**
   * The plugin of each item of MESSAGING_PLATFORMS. An item is absent if no plugin was found for it, or if the plugin
   * does not fit.
   */
  byItem: ReadonlyMap<string, LoadedPlugin>;
  /** Items whose plugin does not fit, and paths without a module; `problems` says why. */
  refused: ReadonlySet<string>;
  problems: readonly SettingProblem[];
}

/** A plugin to load: its location, and the setting that asks for it. */
interface Candidate {
  located: Located;
  from: string;
  /** Whether it is bundled, and so may have a reserved name. */
  bundled: boolean;
  /** The setting that is named in problems. */
  setting: string;
  source: string | null;
  expectedName?: string;
  item?: string;
}

/**
 * Finds, imports and checks the available plugins: all bundled plugins, all plugins of the configuration file, and
 * further plugins that MESSAGING_PLATFORMS names, by path or as the package `agentd-channel-<name>`. An item
 * that is no name may be the title of a channel in lower case. Plugins that do not fit are left out and reported, each
 * with what was expected and what was found.
 */
export async function loadPlugins(search: PluginSearch): Promise<LoadedPlugins> {
  const loading = new Loading();
  const given = [...(await bundledCandidates()), ...(await givenCandidates(search))];
  await loading.addAll(given);
  // A package is searched only for names that no plugin has yet: bundled and listed plugins have priority.
  await loading.addAll(await packageCandidates(search, loading));

  for (const item of search.platforms?.items ?? []) {
    if (loading.byItem.has(item) || loading.refused.has(item)) continue;
    const [meant, another] = namesMeant(
      item,
      loading.plugins.map(({ plugin }) => plugin),
    );
    const named = loading.plugins.find(({ plugin }) => plugin.name === meant);
    if (named !== undefined && another === undefined) loading.byItem.set(item, named);
  }
  return loading;
}

async function bundledCandidates(): Promise<Candidate[]> {
  return [...(await bundledPlugins())].map(([name, file]) => ({
    located: { found: true, file },
    from: 'bundled',
    bundled: true,
    setting: `channel ${name}`,
    source: 'bundled',
    expectedName: name,
  }));
}

async function givenCandidates({ entries, platforms, folders }: PluginSearch): Promise<Candidate[]> {
  const ofFile = entries.map(async ({ path, name, folder, setting, source }): Promise<Candidate> => {
    const located = isPath(path)
      ? await locatePath(path, folder, 'channel')
      : await locatePackage(path, folders, 'channel');
    const from = isPath(path) ? path : `package ${path}`;
    return {
      located,
      from,
      bundled: false,
      setting,
      source,
      ...(name === undefined ? {} : { expectedName: name }),
    };
  });
  const ofPlatforms = (platforms?.items ?? []).filter(isPath).map(async (item): Promise<Candidate> => {
    const located = await locatePath(item, platforms?.folder ?? '', 'channel');
    const source = platforms?.source ?? null;
    return { located, from: item, bundled: false, setting: 'MESSAGING_PLATFORMS', source, item };
  });
  return Promise.all([...ofFile, ...ofPlatforms]);
}

async function packageCandidates(
  { platforms, folders }: PluginSearch,
  { plugins }: Loading,
): Promise<Candidate[]> {
  const missing = (platforms?.items ?? []).filter(
    (item) => !isPath(item) && !isReserved(item) && plugins.every(({ plugin }) => plugin.name !== item),
  );
  const candidates = missing.map(async (name): Promise<Candidate> => {
    const located = await locatePackage(`${PACKAGE_PREFIX}${name}`, folders, 'channel');
    const from = `package ${PACKAGE_PREFIX}${name}`;
    const source = platforms?.source ?? null;
    return {
      located,
      from,
      bundled: false,
      setting: 'MESSAGING_PLATFORMS',
      source,
      expectedName: name,
      item: name,
    };
  });
  // A name without a package is reported later, as an unknown channel, together with the known channels.
  return (await Promise.all(candidates)).filter(({ located }) => located.found);
}

/** Collects the plugins that fit, and reports the others. */
class Loading implements LoadedPlugins {
  readonly plugins: LoadedPlugin[] = [];
  readonly byItem = new Map<string, LoadedPlugin>();
  readonly refused = new Set<string>();
  readonly problems: SettingProblem[] = [];
  /** Plugins by file: a file that is named twice is one plugin. */
  readonly #byFile = new Map<string, LoadedPlugin | null>();

  /** Imports all candidates at once, then adds them in order, so that the result does not depend on timing. */
  async addAll(candidates: readonly Candidate[]): Promise<void> {
    if (candidates.some(({ bundled }) => !bundled)) provideContracts();
    const files = new Set(candidates.flatMap(({ located }) => (located.found ? [located.file] : [])));
    const imported = new Map(
      await Promise.all([...files].map(async (file) => [file, await importPlugin(file)] as const)),
    );
    for (const candidate of candidates) {
      const { located } = candidate;
      if (!located.found) {
        this.#refuse(candidate, [located]);
        continue;
      }
      const outcome = imported.get(located.file);
      if (this.#byFile.has(located.file)) this.#remember(candidate, this.#byFile.get(located.file) ?? null);
      else if (outcome?.ok) this.#take(candidate, located.file, outcome.value);
      else if (outcome) this.#refuse(candidate, [outcome.refusal], located.file);
    }
  }

  #take(candidate: Candidate, file: string, plugin: Readonly<Record<string, unknown>>): void {
    const misshapen = checkPlugin(plugin);
    const fitting = plugin as unknown as ChannelPlugin;
    const refusals =
      misshapen.length > 0 ? misshapen : [...checkDefaults(fitting), ...this.#clashes(candidate, fitting)];
    if (refusals.length > 0) {
      this.#refuse(candidate, refusals, file);
      return;
    }
    const loaded = { plugin: fitting, from: candidate.from };
    this.plugins.push(loaded);
    this.#byFile.set(file, loaded);
    this.#remember(candidate, loaded);
  }

  #clashes({ bundled, expectedName }: Candidate, { name, settings }: ChannelPlugin): Refusal[] {
    if (expectedName !== undefined && expectedName !== name) {
      return [
        {
          problem: `is the channel ${name}, not ${expectedName}`,
          right: `a plugin whose \`name\` is ${expectedName}`,
        },
      ];
    }
    if (!bundled && isReserved(name)) {
      return [
        {
          problem: `has the reserved name ${name}`,
          right: `a name other than ${RESERVED_CHANNEL_NAMES.join(', ')}`,
        },
      ];
    }
    const namesake = this.plugins.find(({ plugin }) => plugin.name === name);
    if (namesake !== undefined) {
      return [
        {
          problem: `has the name ${name}, which is taken (${namesake.from})`,
          right: 'a plugin with another name',
        },
      ];
    }
    const taken = [SETTINGS, ...this.plugins.map(({ plugin }) => plugin.settings)]
      .flat()
      .map((record) => record.name);
    return settings
      .filter((record) => taken.includes(record.name))
      .map((record) => ({
        problem: `has the setting ${record.name}, which is taken`,
        right: 'another name for it',
      }));
  }

  #refuse(candidate: Candidate, refusals: readonly Refusal[], file?: string): void {
    this.#remember(candidate, null);
    if (file !== undefined) this.#byFile.set(file, null);
    const { setting, source, from } = candidate;
    for (const { problem, right } of refusals) {
      // The path of a folder and the name of a package do not say which file was imported.
      const isNamed =
        file === undefined || problem.includes(file) || file.endsWith(from.replace(/^[./~]+/, ''));
      const where = isNamed ? '' : ` (in ${file})`;
      this.problems.push({ setting, value: from, source, problem: problem + where, right });
    }
  }

  #remember({ item }: Candidate, loaded: LoadedPlugin | null): void {
    if (item === undefined) return;
    if (loaded === null) this.refused.add(item);
    else this.byItem.set(item, loaded);
  }
}

function isReserved(name: string): boolean {
  return RESERVED_CHANNEL_NAMES.some((reserved) => reserved === name);
}

/** An active channel, with the values of its settings. */
export interface ConfiguredChannel extends LoadedPlugin {
  settings: ChannelSettings;
}

const NATIVE: Readonly<Record<string, string>> = {
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  list: 'object',
};

/** Checks that the default of each setting is a value that an operator could also set. */
function checkDefaults({ settings }: ChannelPlugin): Refusal[] {
  return settings.flatMap((record) => {
    const { name, kind, default: value } = record;
    if (value === undefined || (typeof value === (NATIVE[kind] ?? 'string') && readValue(record, value).ok))
      return [];
    return [unfit(`\`default\` of ${name}`, `a value of the kind ${kind}, within its bounds`, value)];
  });
}
