import type { ChannelPlugin } from '../../../channel/index.ts';
import type { ConfiguredChannel, LoadedPlugins } from '../../channels/load.ts';
import { describeThrown } from '../../syntax/source-location.ts';
import { type EffectiveSetting, notSet } from '../check.ts';
import { nearest } from '../nearest.ts';
import type { SettingProblem } from '../problem.ts';

interface Activation {
  channels: readonly ConfiguredChannel[];
  problems: readonly SettingProblem[];
  /** Warnings about channels that are not active, or active, although the operator may not expect it. */
  warnings: readonly string[];
}

/**
 * Which channels are active: exactly those that MESSAGING_PLATFORMS lists if it is set, else those that are detected
 * from their settings (agentd-settings(5), "Description"). An active channel must have all its required settings: each
 * missing setting is reported.
 * @param platforms the items of MESSAGING_PLATFORMS with their sources; null if it is not set
 * @param given whether a setting has a value from any source, valid or not
 */
export function activate(
  loaded: LoadedPlugins,
  effective: readonly EffectiveSetting[],
  platforms: { items: readonly string[]; source: string } | null,
  given: (name: string) => boolean,
): Activation {
  const problems: SettingProblem[] = [];
  const values = new Map(effective.map(({ record, value }) => [record.name, value]));
  const configured = loaded.plugins.map((entry) => ({
    ...entry,
    settings: Object.fromEntries(entry.plugin.settings.map(({ name }) => [name, values.get(name)])),
  }));
  const channels =
    platforms === null
      ? configured.filter((channel) => isDetected(channel, problems))
      : selectListed(configured, loaded, platforms, problems);
  for (const { plugin } of channels) {
    for (const record of plugin.settings) {
      if (record.required && !given(record.name) && values.get(record.name) === undefined) {
        problems.push(notSet(record, `is not set, so the platform ${plugin.name} is not configured`));
      }
    }
  }
  const warnings =
    platforms === null
      ? configured
          .filter((channel) => !channels.includes(channel))
          .flatMap(({ plugin }) => halfConfigured(plugin, given))
      : configured.flatMap((channel) => switchedOtherwise(channel, channels.includes(channel), given));
  return { channels, problems, warnings };
}

/** A warning if the setting that turns a channel on says otherwise than MESSAGING_PLATFORMS. */
function switchedOtherwise(
  { plugin: { name }, settings }: ConfiguredChannel,
  isOn: boolean,
  given: (name: string) => boolean,
): string[] {
  return Object.entries(settings)
    .filter(([setting, value]) => setting.endsWith('_ENABLED') && given(setting) && value === !isOn)
    .map(([setting, value]) =>
      isOn
        ? `the channel ${name} is on: MESSAGING_PLATFORMS names it, so ${setting}=${value} has no effect`
        : `the channel ${name} is off: MESSAGING_PLATFORMS does not name it, so ${setting}=${value} has no effect`,
    );
}

/**
 * A warning if only some of the settings that a channel needs are set, since the operator probably expects it to be
 * active.
 */
function halfConfigured({ name, settings }: ChannelPlugin, given: (name: string) => boolean): string[] {
  const needed = settings.filter(({ required }) => required).map((record) => record.name);
  const set = needed.filter(given);
  const missing = needed.filter((setting) => !given(setting));
  if (set.length === 0 || missing.length === 0) return [];
  return [
    `the channel ${name} is off: ${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set, but not ${missing.join(', ')}`,
  ];
}

function selectListed(
  configured: readonly ConfiguredChannel[],
  { byItem, refused }: LoadedPlugins,
  { items, source }: { items: readonly string[]; source: string },
  problems: SettingProblem[],
): ConfiguredChannel[] {
  const names = configured.map(({ plugin }) => plugin.name);
  const channels = new Set<ConfiguredChannel>();
  for (const item of items) {
    const channel = configured.find(({ plugin }) => plugin === byItem.get(item)?.plugin);
    if (channel !== undefined) channels.add(channel);
    else if (!refused.has(item)) problems.push(unknownChannel(item, names, source));
  }
  return [...channels];
}

function unknownChannel(item: string, names: readonly string[], source: string): SettingProblem {
  const meant = nearest(item.toLowerCase(), names, 2)?.name;
  return {
    setting: 'MESSAGING_PLATFORMS',
    value: item,
    source,
    problem: 'there is no channel of this name',
    right: `${meant === undefined ? '' : `${meant}, perhaps; otherwise `}one of ${names.join(', ')}, or a channel that \`plugins\` in the configuration file or a package agentd-channel-NAME adds`,
  };
}

/** Runs code of the plugin: an error in that code is reported, not thrown. */
function isDetected({ plugin, settings, from }: ConfiguredChannel, problems: SettingProblem[]): boolean {
  try {
    return plugin.detect(settings) === true;
  } catch (error) {
    problems.push({
      setting: `channel ${plugin.name}`,
      value: from,
      source: null,
      problem: `\`detect\` threw: ${describeThrown(error)}`,
      right: 'a function that returns whether the channel is configured, given its settings',
    });
    return false;
  }
}
