import type { ChannelPlugin, ChannelScope, ChannelSettings, PlatformSimulator } from '../../channel/index.ts';
import type { LoadedPlugins } from '../channels/load.ts';
import { isStandInAddress } from '../channels/simulator.ts';
import type { EffectiveSetting } from '../settings/check.ts';
import { systemClock } from '../time/clock.ts';

/** Channels as the operator sees them: which there are, their simulators, and how each is checked and set up. */
export { isStandInAddress };

/** The bundled channels, without those of a configuration. */
export async function loadBundled(): Promise<LoadedPlugins> {
  const { loadPlugins } = await import('../channels/load.ts');
  return loadPlugins({ entries: [], platforms: null, folders: [] });
}

/** Loads one bundled channel after the other, in the order of their names, and skips those that do not load. */
export async function* eachBundled(): AsyncGenerator<ChannelPlugin> {
  const { bundledPlugins } = await import('../channels/import-plugin.ts');
  for (const name of (await bundledPlugins()).keys()) {
    const plugin = await loadOneBundled(name);
    if (plugin) yield plugin;
  }
}

/** The bundled channel of this name; null if there is none. */
export async function loadOneBundled(name: string): Promise<ChannelPlugin | null> {
  const [{ bundledPlugins }, { importPlugin }] = await Promise.all([
    import('../channels/import-plugin.ts'),
    import('../channels/import-plugin.ts'),
  ]);
  const file = (await bundledPlugins()).get(name);
  const imported = file === undefined ? null : await importPlugin(file);
  return imported?.ok ? (imported.plugin as unknown as ChannelPlugin) : null;
}

/** The rules for the name of a new channel. */
export interface ChannelNames {
  isName(name: string): boolean;
  /** The rule in words. */
  rule: string;
  /** Words that `agentd link` would not understand as names. */
  reserved: readonly string[];
}

export async function channelNameRules(): Promise<ChannelNames> {
  const { isChannelName, LINK_COMMANDS, NAME_RULE } = await import('../channels/check-plugin.ts');
  return { isName: isChannelName, rule: NAME_RULE, reserved: LINK_COMMANDS };
}

/** The scope in which a channel can call its platform, but neither receives nor sends messages. */
export async function idleScope(
  plugin: ChannelPlugin,
  settings: ChannelSettings,
  call: typeof fetch,
): Promise<ChannelScope> {
  const scope = await import('../channels/ask-platform.ts');
  return scope.idleScope(plugin, settings, call, () => systemClock.now());
}

/** The simulator of a channel's platform; null if it has none. @throws ConfigurationError if it cannot be used */
export async function loadSimulator(plugin: ChannelPlugin): Promise<PlatformSimulator | null> {
  const simulator = await import('../channels/simulator.ts');
  return simulator.loadSimulator(plugin);
}

/** Whether the operator, and not `serve --dev`, has given all settings that the channel needs. */
export async function isSetUp(
  plugin: ChannelPlugin,
  effective: readonly EffectiveSetting[],
): Promise<boolean> {
  const platforms = await import('../dev/platforms.ts');
  return platforms.isSetUp(plugin, effective);
}
