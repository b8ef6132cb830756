import { dirname, resolve } from 'node:path';
import type { ChannelPlugin, SettingRecord } from '../../../channel/index.ts';
import type { AgentEntry } from '../../agents/agent-entry.ts';
import { type ConfiguredChannel, type LoadedPlugins, loadPlugins } from '../../channels/load.ts';
import { Texts } from '../../texts/texts.ts';
import type { SourceEntry } from '../../tools/source-entry.ts';
import { checkRecords, type EffectiveSetting, GUARDED, Validation } from '../check.ts';
import { DEFAULT_ENV_FILE } from '../env-file.ts';
import { ConfigurationError, type SettingProblem } from '../problem.ts';
import type { Need } from '../records/record.ts';
import { fileSettings, looseFileWarnings, readSecretFiles } from '../secret-files.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { type ConfigLocation, findGiven, isBlank, readSources, type Sources } from '../sources.ts';
import { readValue } from '../value.ts';
import { activate } from './activate.ts';
import { readAgentEntries } from './agent-entries.ts';
import { checkTexts } from './check-texts.ts';
import {
  checkAgentSettings,
  checkMemorySettings,
  checkOrigins,
  checkStoreSettings,
  checkTogether,
} from './cross-checks.ts';
import { type ConfigurationFiles, listFiles, missingFiles } from './files.ts';
import { type Merged, mergeRunning, type RunningConfiguration } from './running.ts';
import { checkTokenSettings } from './token-settings.ts';
import { longestCalls, readSourceEntries } from './tools/source-entries.ts';
import { readSourceSecrets, secretsOfSources } from './tools/source-secrets.ts';
import { findUnknownNames } from './unknown-names.ts';

export type { ConfiguredChannel } from '../../channels/load.ts';
export type { EffectiveSetting } from '../check.ts';
export { ConfigurationError, type SettingProblem } from '../problem.ts';
export type { ConfigLocation } from '../sources.ts';

/** A configuration that can be run. */
export interface Configuration {
  settings: Settings;
  /** The active channels. */
  channels: readonly ConfiguredChannel[];
  /** Names of all available channels, active or not. */
  available: readonly string[];
  /** The sources of tools, in the order of the configuration file. */
  tools: readonly SourceEntry[];
  /** The agents, in the order of the configuration file; at least one. */
  agents: readonly AgentEntry[];
  /** The texts that people read but that no agent wrote. */
  texts: Texts;
  /**
   * Every setting of the daemon and of all channels, and the secrets of tool sources, in the order of their records.
   */
  effective: readonly EffectiveSetting[];
  /** Warnings about settings that are allowed but rarely intended; logged at each start. */
  warnings: readonly string[];
  files: ConfigurationFiles;
  /** The structured parts of the configuration file and of `serve --dev`, by key, as they were read. */
  structured: ReadonlyMap<string, unknown>;
  /** The settings with a new value, if a running daemon reads its configuration again. */
  compared: Pick<Merged, 'changed' | 'fixed'>;
  /** The value of `NODE_ENV`, empty if it is not set. `production` and `staging` are converted to lower case. */
  environment: string;
}

/**
 * The configuration as far as it can be read, with all its problems, for commands that examine a broken configuration.
 */
export interface Inspection extends Omit<Configuration, 'settings'> {
  /** All available plugins, active or not. */
  plugins: readonly ChannelPlugin[];
  /** The origin of each plugin, and the problems of plugins that do not follow the contract. */
  loaded: LoadedPlugins;
  problems: readonly SettingProblem[];
}

/** The purpose for which a command needs settings. Problems of other settings do not make the command fail. */
export type Purpose = 'address' | 'store' | 'log' | 'tokens' | 'links' | 'link' | 'memory' | 'person';

/** What each purpose needs settings for, as their records say. */
const NEEDS: Readonly<Record<Purpose, readonly Need[]>> = {
  address: ['address'],
  store: ['store'],
  log: ['log'],
  tokens: ['tokens'],
  links: ['store', 'seals'],
  link: ['store', 'tokens', 'seals'],
  memory: ['store', 'memory'],
  person: ['store', 'seals', 'memory'],
};

const READ_TOKENS: readonly Purpose[] = ['tokens', 'links', 'link', 'person'];

/** `NODE_ENV` as in `Configuration.environment`. Checks no settings and loads no plugins. */
export async function environmentAt(location: ConfigLocation): Promise<string> {
  return readEnvironment(await readSources(location));
}

/**
 * Whether these are the settings of a daemon: NODE_ENV is `production` or `staging`, or JWT_ALGORITHM is set, without
 * which `serve` does not start.
 */
export async function isDaemonAt(location: ConfigLocation): Promise<boolean> {
  const sources = await readSources(location);
  return GUARDED.includes(readEnvironment(sources)) || findGiven(sources, 'JWT_ALGORITHM') !== undefined;
}

/**
 * The configuration of the daemon: sources, plugins, every check, activation (agentd-settings(5), "Description").
 * @param running the configuration of a running daemon: settings that need a restart keep their values
 * @throws ConfigurationError with all problems together.
 */
export async function configure(
  location: ConfigLocation,
  running?: RunningConfiguration,
): Promise<Configuration> {
  const {
    problems,
    plugins: _plugins,
    loaded: _loaded,
    ...found
  } = await inspectConfiguration(location, running);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return { ...found, settings: toSettings(found.effective) };
}

/** All available plugins, active or not, with the problems of plugins that do not follow the contract. */
export async function pluginsAt(location: ConfigLocation): Promise<LoadedPlugins> {
  return loadFrom(await readSources(location), location);
}

/** Like `configure`, but returns the problems in addition to the valid part. Never throws because of problems. */
export async function inspectConfiguration(
  location: ConfigLocation,
  running?: RunningConfiguration,
): Promise<Inspection> {
  const written = await readSources(location);
  const platforms = readPlatforms(written, location);
  const loaded = await loadFrom(written, location);
  const plugins = loaded.plugins.map(({ plugin }) => plugin);
  const settings: SettingRecord[] = [...SETTINGS, ...plugins.flatMap((plugin) => plugin.settings)];
  const ofSources = secretsOfSources(
    written.structured.get('tools'),
    settings.map(({ name }) => name),
  );
  const records = [...settings, ...ofSources];
  const sources = await readSecretFiles(written, records, location.cwd);
  const checked = checkRecords(records, sources, location);
  const available = plugins.map(({ name }) => name);
  const unknown = findUnknownNames(sources, {
    known: [...records.map(({ name }) => name), ...fileSettings(records)],
    channels: available,
    complete: loaded.problems.length === 0,
  });
  const activation = activate(
    loaded,
    checked.effective,
    platforms,
    (name) => findGiven(sources, name) !== undefined,
  );

  const { effective, ...compared } = running
    ? mergeRunning(checked.effective, running.effective)
    : { effective: checked.effective, changed: [], fixed: [] };
  const around = surroundings(sources, location);
  const environment = running?.environment ?? around.environment;
  const validation = new Validation(effective, sources, { ...around, environment });
  await checkTogether(
    validation,
    activation.channels.map(({ plugin }) => plugin),
  );
  const ownSecrets = readSourceSecrets(ofSources, effective, sources);
  const tools = readSourceEntries(sources.structured.get('tools'), {
    api_base_url: validation.value('API_BASE_URL') ?? (validation.isGiven('API_BASE_URL') ? undefined : null),
    secrets: ownSecrets.secrets,
  });
  const agents = readAgentEntries(sources.structured.get('agents'), plugins);
  const texts = checkTexts(
    sources.structured.get('texts'),
    plugins.flatMap((plugin) => plugin.texts ?? []),
  );
  const problems = [
    ...sources.problems,
    ...(running ? missingFiles(sources, running) : []),
    ...withoutUnread(
      [
        ...checked.problems,
        ...validation.problems,
        ...ownSecrets.problems,
        ...tools.problems,
        ...agents.problems,
        ...texts.problems,
        ...loaded.problems,
        ...activation.problems,
        ...unknown.problems,
      ],
      sources,
    ),
  ];
  // If there are problems, they may be the reason why no channel is active, so there is no warning.
  if (activation.channels.length === 0 && problems.length === 0) validation.warn(noChannel(loaded));
  return {
    channels: activation.channels,
    plugins,
    loaded,
    available,
    tools: tools.entries,
    agents: agents.entries,
    texts: new Texts(texts.replaced, validation.value('DEFAULT_LOCALE')),
    effective,
    compared: {
      changed: compared.changed,
      fixed: around.environment === environment ? compared.fixed : ['NODE_ENV', ...compared.fixed],
    },
    files: listFiles({ sources, tools: tools.entries, agents: agents.entries, validation, location }),
    structured: new Map([...sources.structured].map(([key, { value }]) => [key, value])),
    warnings: [
      ...validation.warnings,
      ...(await looseFileWarnings(sources, records)),
      ...activation.warnings,
      ...longestCalls(tools.entries, validation.value('AGENT_TIMEOUT_SECONDS')),
      ...unknown.warnings,
    ],
    environment: validation.environment,
    problems,
  };
}

/**
 * The daemon's own settings for a command that needs only some of them; no plugin is loaded. A wrong or missing setting
 * that the purpose does not need has its default, or is undefined.
 * @throws ConfigurationError with all problems of the settings that the purpose needs.
 */
export async function configureCore(location: ConfigLocation, purpose: Purpose): Promise<Settings> {
  const needs = NEEDS[purpose];
  const records = SETTINGS.filter(({ needed_for = [] }) => needed_for.some((need) => needs.includes(need)));
  const needed: readonly string[] = records.map(({ name }) => name);
  const sources = await readSecretFiles(await readSources(location), records, location.cwd);
  const { effective, problems } = checkRecords(SETTINGS, sources, location);
  const validation = new Validation(effective, sources, surroundings(sources, location));
  if (needed.includes('JWT_ALGORITHM')) validation.demand('JWT_ALGORITHM', 'is not set');
  if (needed.includes('REDIS_URL')) checkStoreSettings(validation);
  if (READ_TOKENS.includes(purpose)) await checkTokenSettings(validation);
  if (needed.includes('MEMORY_BACKEND')) checkMemorySettings(validation);
  const ofFiles = sources.problems.filter((problem) => !isStrayEnvFile(problem, location));
  const ofSettings = [...problems, ...validation.problems].filter(({ setting }) => needed.includes(setting));
  const all = ofFiles.length === 0 ? ofSettings : [...ofFiles, ...withoutUnread(ofSettings, sources)];
  if (all.length > 0) throw new ConfigurationError(all);
  return toSettings(effective.map(orDefault));
}

/** The problems that remain if the file that cannot be read sets what is set nowhere else. */
function withoutUnread(
  problems: readonly SettingProblem[],
  { lacksFile }: Sources,
): readonly SettingProblem[] {
  return lacksFile ? problems.filter(({ value, source }) => value !== null || source !== null) : problems;
}

/**
 * Whether the problem is that `.env` in the working directory cannot be read, while the configuration file is in
 * another folder. That `.env` does not belong to this configuration.
 */
function isStrayEnvFile({ setting }: SettingProblem, { cwd, envFile, configFile }: ConfigLocation): boolean {
  if (setting !== DEFAULT_ENV_FILE || envFile !== undefined || configFile === undefined) return false;
  return dirname(resolve(cwd, configFile)) !== cwd;
}

function loadFrom(sources: Sources, location: ConfigLocation): Promise<LoadedPlugins> {
  return loadPlugins({
    entries: sources.plugins,
    platforms: readPlatforms(sources, location),
    folders: [...new Set([sources.folder, location.cwd])],
  });
}

function orDefault(setting: EffectiveSetting): EffectiveSetting {
  return setting.value === undefined ? { ...setting, value: setting.record.default } : setting;
}

/** The settings of a configuration without problems. They are complete, since required settings were checked. */
export function toSettings(effective: readonly EffectiveSetting[]): Settings {
  const own = new Set<string>(SETTINGS.map(({ name }) => name));
  return Object.fromEntries(
    effective.filter(({ record }) => own.has(record.name)).map(({ record, value }) => [record.name, value]),
  ) as unknown as Settings;
}

/**
 * Reads MESSAGING_PLATFORMS before all other settings, because it says which plugins to load. Its problems are reported
 * later.
 */
function readPlatforms(sources: Sources, { cwd }: ConfigLocation) {
  const record = SETTINGS.find(({ name }) => name === 'MESSAGING_PLATFORMS');
  const set = findGiven(sources, 'MESSAGING_PLATFORMS');
  const reading = record && set ? readValue(record, set.value) : undefined;
  if (!set || !reading?.ok || !Array.isArray(reading.value)) return null;
  const folder = set.layer.kind === 'file' ? sources.folder : cwd;
  return { items: reading.value as readonly string[], folder, source: set.source };
}

/** `NODE_ENV`, from the environment or `.env`. It is not a setting, since it also affects other programs. */
function readEnvironment({ layers }: Sources): string {
  const layer = layers.find(
    ({ kind, values }) => (kind === 'environment' || kind === 'env-file') && !isBlank(values.get('NODE_ENV')),
  );
  const named = String(layer?.values.get('NODE_ENV') ?? '').trim();
  const lower = named.toLowerCase();
  // Fails closed: `PRODUCTION` counts as `production`, but a word that turns checks off, such as `development`, must be
  // exact.
  return GUARDED.includes(lower) ? lower : named;
}

function surroundings(sources: Sources, { cwd, defaults }: ConfigLocation) {
  return { environment: readEnvironment(sources), cwd, dev: defaults !== undefined };
}

function noChannel({ plugins }: LoadedPlugins): string {
  const names = plugins.map(({ plugin }) => plugin.name).join(', ');
  return `no channel is active, so nobody can talk to the agent; set MESSAGING_PLATFORMS, or the settings of one of: ${names}`;
}

/**
 * The problems that `configure` would report if these values were in a configuration file. A missing setting is not a
 * problem.
 * @param active the channels that the configuration will have
 */
export function checkValues(
  values: ReadonlyMap<string, unknown>,
  active: readonly ChannelPlugin[],
): SettingProblem[] {
  const cwd = process.cwd();
  const sources: Sources = {
    layers: [{ source: 'new', kind: 'file', values }],
    plugins: [],
    structured: new Map(),
    folder: cwd,
    problems: [],
    lacksFile: false,
  };
  const { effective, problems } = checkRecords(SETTINGS, sources, { env: {}, cwd });
  const validation = new Validation(effective, sources, { environment: '', cwd, dev: false });
  checkAgentSettings(validation);
  checkOrigins(validation, active);
  return [...problems, ...validation.problems].filter(({ setting }) => values.has(setting));
}
