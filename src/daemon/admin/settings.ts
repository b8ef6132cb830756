import type { ChannelPlugin } from '../../channel/index.ts';
import type { AgentEntry } from '../agents/agent-entry.ts';
import type { EffectiveSetting } from '../settings/check.ts';
import type { Configuration, Inspection, Purpose } from '../settings/configure/configure.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import type { Settings } from '../settings/settings.ts';
import type { ConfigLocation } from '../settings/sources.ts';
import type { TokenReach } from '../tools/describe-source.ts';
import type { CredentialForm } from '../tools/downstream/credential-form.ts';
import { lazy } from './lazy.ts';

/** The tools of `serve --dev` in a folder, for a command in a second terminal. */
export { keptSampleTools } from '../dev/sample.ts';
/**
 * The settings of the daemon, as a command reads them: from the locations that the daemon reads, with the checks of the
 * daemon. Reading settings loads their records and checks, so each function loads them when it is called.
 */
export type { ConfiguredChannel } from '../settings/configure/configure.ts';
export { DEFAULT_ENV_FILE } from '../settings/env-file.ts';
export type {
  AgentEntry,
  ConfigLocation,
  Configuration,
  EffectiveSetting,
  Inspection,
  Purpose,
  SettingProblem,
  Settings,
};
export { ConfigurationError };

const configuration = () => import('../settings/configure/configure.ts');

/** The daemon's own settings for a purpose, without those of its channels. Loads no plugin. */
export const readSettings = lazy(configuration, 'configureCore');
/** Everything that a daemon would run with. */
export const readConfiguration = lazy(configuration, 'configure');
/** Like `readConfiguration`, but returns the problems beside the valid part, for commands that examine settings. */
export const inspectConfiguration = lazy(configuration, 'inspectConfiguration');
/** The settings of an inspection that has no problems. */
export const toSettings = lazy(configuration, 'toSettings');
/** The settings with the values that unset ones have because of others. */
export async function withDerived(effective: readonly EffectiveSetting[]): Promise<EffectiveSetting[]> {
  const [{ memoryBackend, sessionBackend }, { runtimeName }] = await Promise.all([
    import('../settings/backends.ts'),
    import('../agent/load.ts'),
  ]);
  const settings = Object.fromEntries(effective.map(({ record, value }) => [record.name, value])) as Settings;
  const derived = new Map<string, string>([
    ['SESSION_BACKEND', sessionBackend(settings)],
    ['MEMORY_BACKEND', memoryBackend(settings)],
    ['AGENT_RUNTIME', runtimeName(settings)],
  ]);
  return effective.map((setting) => {
    const value = derived.get(setting.record.name);
    if (setting.source !== 'unset' || value === undefined) return setting;
    return { ...setting, value, source: 'default', shown: value };
  });
}
export const environmentAt = lazy(configuration, 'environmentAt');
/** Whether these are the settings of a daemon, so that those of `serve --dev` are not used instead. */
export const isDaemonAt = lazy(configuration, 'isDaemonAt');
export const pluginsAt = lazy(configuration, 'pluginsAt');
export const checkValues = lazy(configuration, 'checkValues');
export const notSet = lazy(() => import('../settings/check.ts'), 'notSet');
/** Every problem that prevents a daemon with these settings from starting. Nothing is started. */
export const checkStart = lazy(() => import('../check-parts.ts'), 'checkParts');

/** For each source of tools, which tokens it may see. */
export async function tokenReaches(found: Inspection): Promise<TokenReach[]> {
  const [{ findApiBaseUrl }, { tokenReach }] = await Promise.all([
    import('../check-parts.ts'),
    import('../tools/describe-source.ts'),
  ]);
  return found.tools.map((entry) => tokenReach(entry, findApiBaseUrl(found)));
}

export type { TokenReach };

/** Where a credential is sent, in words; null if it is sent as a bearer token, which needs no mention. */
export async function unusualPlace(credential: CredentialForm | null): Promise<string | null> {
  const { credentialPlace, isBearer } = await import('../tools/downstream/credential-form.ts');
  return credential === null || isBearer(credential) ? null : credentialPlace(credential);
}

/** The reference of all settings, and of the texts that channels and the daemon send. */
export type SettingsReference = Awaited<ReturnType<typeof settingsReference>>;

export async function settingsReference(plugins: readonly ChannelPlugin[]) {
  const [reference, { settingSchema, settingsSchema }] = await Promise.all([
    import('../settings/reference.ts'),
    import('../settings/json-schema.ts'),
  ]);
  const groups = reference.settingGroups(plugins);
  const texts = plugins.flatMap((plugin) => plugin.texts ?? []);
  return {
    groups,
    /** For a terminal. */
    text: () => reference.settingsReference(groups, texts),
    /** One setting: for a terminal, and its JSON Schema. */
    one: { text: reference.settingReference, schema: settingSchema },
    /** The JSON Schema of the configuration file. */
    schema: () => settingsSchema(groups, texts),
    /** A configuration file in which every setting is explained. @param values settings that it sets */
    example: (values?: ReadonlyMap<string, unknown>) => reference.exampleFile(groups, values),
  };
}

/** The JSON Schema of the files of `agentd eval`. */
export const evalSchema = async () => (await import('../eval/case-schema.ts')).EVAL_SCHEMA;

/** How the values of settings are written and shown. Secrets are never shown. */
export { fileSetting } from '../../channel/setting.ts';
export { parseListenAddress } from '../settings/addresses.ts';
export { knownSecrets } from '../settings/known-secrets.ts';
export { maskSecrets } from '../settings/mask-secrets.ts';
export { SECRET_SHOWN, withoutSecrets } from '../settings/value.ts';
