import type { ChannelPlugin, SettingRecord } from '../../channel/index.ts';
import type { LoadedPlugins } from '../channels/load.ts';
import type { CheckedParts } from '../check-parts.ts';
import type { Configuration, Inspection, Purpose } from '../settings/configure/configure.ts';
import type { JsonSchema } from '../settings/json-schema.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import type { SettingGroup } from '../settings/reference.ts';
import type { Settings } from '../settings/settings.ts';
import type { Place } from '../settings/sources.ts';
import type { TokenReach } from '../tools/describe-source.ts';
import type { CredentialForm } from '../tools/downstream/credential-form.ts';

/** The tools of `serve --dev` in a folder, for a command in a second terminal. */
export { keptSampleTools } from '../dev/kept-sample-tools.ts';
export type { EffectiveSetting } from '../settings/check.ts';
/**
 * The settings of the daemon, as a command reads them: from the locations that the daemon reads, with the checks of the
 * daemon. Reading settings loads their records and checks, so each function loads them when it is called.
 */
export type { ConfiguredChannel } from '../settings/configure/configure.ts';
export { DEFAULT_ENV_FILE } from '../settings/env-file.ts';
export type { Configuration, Inspection, LoadedPlugins, Purpose, SettingGroup, SettingProblem, Settings };
export { ConfigurationError };

/** Where a command looks for settings. */
export type SettingsLocation = Place;

/**
 * The daemon's own settings, without those of its channels. Loads no plugin.
 * @throws ConfigurationError with all problems of the settings that the purpose needs
 */
export async function readSettings(location: SettingsLocation, purpose: Purpose): Promise<Settings> {
  const { configureCore } = await import('../settings/configure/configure.ts');
  return configureCore({ ...location, purpose });
}

/** Everything that a daemon would run with. @throws ConfigurationError with all problems */
export async function readConfiguration(location: SettingsLocation): Promise<Configuration> {
  const { configure } = await import('../settings/configure/configure.ts');
  return configure(location);
}

/** Like `readConfiguration`, but returns the problems beside the valid part, for commands that examine settings. */
export async function inspectConfiguration(location: SettingsLocation): Promise<Inspection> {
  const configure = await import('../settings/configure/configure.ts');
  return configure.inspectConfiguration(location);
}

/** The settings of an inspection that has no problems. */
export async function settingsIn({ effective }: Pick<Inspection, 'effective'>): Promise<Settings> {
  const { settingsOf } = await import('../settings/configure/configure.ts');
  return settingsOf(effective);
}

/** `NODE_ENV`, empty if it is not set. Checks no settings. */
export async function environmentAt(location: SettingsLocation): Promise<string> {
  const configure = await import('../settings/configure/configure.ts');
  return configure.environmentAt(location);
}

/** Whether these are the settings of a daemon, so that those of `serve --dev` are not used instead. */
export async function isDaemonAt(location: SettingsLocation): Promise<boolean> {
  const configure = await import('../settings/configure/configure.ts');
  return configure.isDaemonAt(location);
}

/** All available channels, active or not, with the problems of plugins that do not follow the contract. */
export async function pluginsAt(location: SettingsLocation): Promise<LoadedPlugins> {
  const configure = await import('../settings/configure/configure.ts');
  return configure.pluginsAt(location);
}

/** Every problem that prevents a daemon with these settings from starting. Nothing is started. */
export async function checkStart(found: Inspection): Promise<CheckedParts> {
  const { checkParts } = await import('../check-parts.ts');
  return checkParts(found);
}

/** For each source of tools, which tokens it may see. */
export async function tokenReaches(found: Inspection): Promise<TokenReach[]> {
  const [{ apiBaseUrlOf }, { tokenReach }] = await Promise.all([
    import('../check-parts.ts'),
    import('../tools/describe-source.ts'),
  ]);
  return found.tools.map((entry) => tokenReach(entry, apiBaseUrlOf(found)));
}

export type { TokenReach };

/** Where a credential is sent, in words; null if it is sent as a bearer token, which needs no mention. */
export async function unusualPlace(credential: CredentialForm | null): Promise<string | null> {
  const { credentialPlace, isBearer } = await import('../tools/downstream/credential-form.ts');
  return credential === null || isBearer(credential) ? null : credentialPlace(credential);
}

/** The problems of some values for settings; all other settings have their defaults. */
export async function checkValues(
  values: ReadonlyMap<string, unknown>,
  active: readonly ChannelPlugin[],
): Promise<readonly SettingProblem[]> {
  const check = await import('../settings/configure/check-values.ts');
  return check.checkValues(values, active);
}

/** The problem of a setting that is missing. @param why completes a sentence about the setting */
export async function notSet(record: SettingRecord, why: string): Promise<SettingProblem> {
  const check = await import('../settings/check.ts');
  return check.notSet(record, why);
}

/** The reference of all settings, and of the texts that channels and the daemon send. */
export interface SettingsReference {
  groups: readonly SettingGroup[];
  /** For a terminal. */
  text(): string;
  /** The JSON Schema of the configuration file. */
  schema(): JsonSchema;
  /**
   * A configuration file in which every setting is explained.
   * @param values settings that the file sets; the others are comments
   */
  example(values?: ReadonlyMap<string, unknown>): string;
}

export async function settingsReference(plugins: readonly ChannelPlugin[]): Promise<SettingsReference> {
  const [reference, { settingsSchema }, { exampleFile }] = await Promise.all([
    import('../settings/reference.ts'),
    import('../settings/json-schema.ts'),
    import('../settings/example-file.ts'),
  ]);
  const groups = reference.settingGroups(plugins);
  const texts = plugins.flatMap((plugin) => plugin.texts ?? []);
  return {
    groups,
    text: () => reference.settingsReference(groups, texts),
    schema: () => settingsSchema(groups, texts),
    example: (values) => exampleFile(groups, values),
  };
}
