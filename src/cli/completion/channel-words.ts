import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';

/** Names of the bundled channels. A stored script cannot know other channels, which depend on the configuration. */
export const channelNames: readonly string[] = RESERVED_CHANNEL_NAMES;

/** Channels for `agentd simulate`. */
export async function simulatedChannels(): Promise<string[]> {
  return (await bundled()).filter(({ simulator }) => simulator !== undefined).map(({ name }) => name);
}

/** Words of `agentd link` for channels whose users can be linked. */
export async function linkingWords(): Promise<string[]> {
  return (await bundled()).flatMap(({ name, linking }) =>
    linking === undefined ? [] : [linking.word ?? name],
  );
}

async function bundled() {
  const { loadPlugins } = await import('../../daemon/plugin/load.ts');
  const { plugins } = await loadPlugins({ entries: [], platforms: null, folders: [] });
  return plugins.map(({ plugin }) => plugin);
}
