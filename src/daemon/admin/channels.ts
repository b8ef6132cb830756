import type { ChannelPlugin } from '../../channel/index.ts';
import type { LoadedPlugins } from '../channels/load.ts';
import { isStandInAddress, loadSimulator } from '../channels/simulator.ts';
import { lazy } from './lazy.ts';

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

export async function loadOneBundled(name: string): Promise<ChannelPlugin | null> {
  const { bundledPlugins, importPlugin } = await import('../channels/import-plugin.ts');
  const file = (await bundledPlugins()).get(name);
  const imported = file === undefined ? null : await importPlugin(file);
  return imported?.ok ? (imported.value as unknown as ChannelPlugin) : null;
}

/** The rules for the name of a new channel. */
interface ChannelNames {
  isName(name: string): boolean;
  /** The rule in words. */
  rule: string;
  /** Words that `agentd link` would not understand as names. */
  reserved: readonly string[];
}

export async function channelNameRules(): Promise<ChannelNames> {
  const { isChannelName, LINK_COMMANDS, NAME_RULE } = await import('../../channel/check-plugin.ts');
  return { isName: isChannelName, rule: NAME_RULE, reserved: LINK_COMMANDS };
}

/** The scope in which a channel can call its platform, but neither receives nor sends messages. */
export const idleScope = lazy(() => import('../channels/ask-platform.ts'), 'idleScope');
/** The simulator of a channel's platform; null if it has none. @throws ConfigurationError if it cannot be used */
export { loadSimulator };
/** Whether the operator, and not `serve --dev`, has given all settings that the channel needs. */
export const isSetUp = lazy(() => import('../dev/platforms.ts'), 'isSetUp');
