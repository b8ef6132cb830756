import type { ChannelPlugin, ChannelSettings, PlatformSimulator } from '../../channel/index.ts';
import { isSetUp, loadSimulator } from '../../daemon/admin/channels.ts';
import {
  ConfigurationError,
  type Inspection,
  inspectConfiguration,
  notSet,
  type SettingsLocation,
} from '../../daemon/admin/settings.ts';
import { type CliError, usageError } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { readDevSettings, USING_DEV_SETTINGS } from '../dev-settings.ts';

/** A channel, the simulator of its platform, and the settings of both. */
export interface Scenario {
  plugin: ChannelPlugin;
  simulator: PlatformSimulator;
  settings: ChannelSettings;
  /** Where the settings come from. */
  location: SettingsLocation;
}

/**
 * Finds a channel and its settings where the daemon finds them. If the channel is not set up there, the settings of
 * `serve --dev` are used, unless `--env-file` was given or NODE_ENV is production.
 *
 * @param note prints a line for the person
 * @throws CliError (2) if the channel does not exist or has no simulator; ConfigurationError if its settings are
 * missing or wrong
 */
export async function loadScenario(
  channel: string,
  options: OptionValues,
  note: (text: string) => void,
): Promise<Scenario> {
  let location = configLocation(options);
  let found = await inspectConfiguration(location);
  const isUsable = async ({ plugins, effective }: Inspection) => {
    const plugin = plugins.find(({ name }) => name === channel);
    return plugin !== undefined && (await isSetUp(plugin, effective));
  };
  const mayUseDev = location.defaults === undefined && location.envFile === undefined;
  if (mayUseDev && !(await isUsable(found)) && found.environment !== 'production') {
    const defaults = await readDevSettings(location.cwd);
    if (defaults !== null) {
      note(USING_DEV_SETTINGS);
      location = { ...location, defaults };
      found = await inspectConfiguration(location);
    }
  }
  const plugin = found.plugins.find(({ name }) => name === channel);
  const simulator = plugin && (await loadSimulator(plugin));
  if (!plugin || !simulator) throw unknownChannel(channel, found);
  return { plugin, simulator, settings: await settingsOf(plugin, found), location };
}

async function settingsOf(
  { settings, name: channel }: ChannelPlugin,
  found: Inspection,
): Promise<ChannelSettings> {
  const values = new Map(found.effective.map(({ record, value }) => [record.name, value]));
  const names = settings.map(({ name }) => name);
  const problems = found.problems.filter(({ setting }) => names.includes(setting));
  for (const record of settings) {
    const isMissing = record.required && values.get(record.name) === undefined;
    if (isMissing && problems.every(({ setting }) => setting !== record.name))
      problems.push(await notSet(record, `is not set, so nothing can be sent as the platform of ${channel}`));
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.fromEntries(names.map((name) => [name, values.get(name)]));
}

/** The error for an unknown channel. If the channel exists but cannot be loaded, throws that problem. */
function unknownChannel(channel: string, { plugins, problems }: Inspection): CliError {
  const simulated = plugins.filter(({ simulator }) => simulator).map(({ name }) => name);
  const broken = problems.find(({ setting }) => setting === `channel ${channel}`);
  if (broken) throw new ConfigurationError([broken]);
  return usageError(
    plugins.some(({ name }) => name === channel)
      ? `the channel ${channel} has no simulator for its platform`
      : `there is no channel '${channel}'`,
    simulated.length > 0 ? `Use one of: ${simulated.join(', ')}.` : 'No installed channel has a simulator.',
  );
}
