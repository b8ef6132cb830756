import type { ChannelPlugin, ChannelSettings, PlatformSimulator } from '../../channel/index.ts';
import {
  ConfigurationError,
  type ConfigureOptions,
  type Inspection,
  inspectConfiguration,
} from '../../daemon/configuration/configure.ts';
import { isSetUp } from '../../daemon/dev/platforms.ts';
import { loadSimulator } from '../../daemon/plugin/load-simulator.ts';
import { notSet } from '../../daemon/settings/check.ts';
import { readDevSettings, USING_DEV_SETTINGS } from '../dev-settings.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { placeOf } from '../settings-place.ts';

/** A channel, what stands in for its platform, and the settings that both work with. */
export interface Scene {
  plugin: ChannelPlugin;
  simulator: PlatformSimulator;
  settings: ChannelSettings;
  /** Where these settings come from. */
  place: ConfigureOptions;
}

/**
 * Finds the channel and its settings where the daemon finds them. What nobody has set up is looked for where
 * `serve --dev` keeps it, unless a file was named.
 *
 * @param note tells the person so.
 * @throws CliError (2) where there is no such channel, or it has no simulator; ConfigurationError where its
 * settings are missing or wrong.
 */
export async function setScene(
  channel: string,
  options: Readonly<Record<string, unknown>>,
  note: (text: string) => void,
): Promise<Scene> {
  let place = placeOf(options);
  let found = await inspectConfiguration(place);
  const isUsable = ({ plugins, effective }: Inspection) =>
    plugins.some((plugin) => plugin.name === channel && isSetUp(plugin, effective));
  const mayUseDev = place.defaults === undefined && place.envFile === undefined;
  if (mayUseDev && !isUsable(found) && found.environment !== 'production') {
    const defaults = await readDevSettings(place.cwd);
    if (defaults !== null) {
      note(USING_DEV_SETTINGS);
      place = { ...place, defaults };
      found = await inspectConfiguration(place);
    }
  }
  const plugin = found.plugins.find(({ name }) => name === channel) ?? (await unknown(channel, found));
  const simulator = (await loadSimulator(plugin)) ?? (await unknown(channel, found));
  return { plugin, simulator, settings: settingsOf(plugin, found), place };
}

function settingsOf({ settings, name: channel }: ChannelPlugin, found: Inspection): ChannelSettings {
  const values = new Map(found.effective.map(({ record, value }) => [record.name, value]));
  const names = settings.map(({ name }) => name);
  const problems = found.problems.filter(({ setting }) => names.includes(setting));
  for (const record of settings) {
    const isMissing = record.required && values.get(record.name) === undefined;
    if (isMissing && problems.every(({ setting }) => setting !== record.name))
      problems.push(notSet(record, `is not set, so nothing can be sent as the platform of ${channel}`));
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.fromEntries(names.map((name) => [name, values.get(name)]));
}

async function unknown(channel: string, { plugins, problems }: Inspection): Promise<never> {
  const simulated = plugins.filter(({ simulator }) => simulator).map(({ name }) => name);
  const broken = problems.find(({ setting }) => setting === `channel ${channel}`);
  if (broken) throw new ConfigurationError([broken]);
  const there = plugins.some(({ name }) => name === channel);
  throw new CliError(
    EXIT.usage,
    there
      ? `the channel ${channel} brings nothing that stands in for its platform`
      : `there is no channel '${channel}'`,
    simulated.length > 0
      ? `Those that can be simulated: ${simulated.join(', ')}.`
      : 'No channel that there is can be simulated.',
  );
}
