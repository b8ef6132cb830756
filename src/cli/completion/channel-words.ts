import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';

/** Names of the bundled channels. A script that is kept cannot know of others, which differ from place to place. */
export const channelNames: readonly string[] = RESERVED_CHANNEL_NAMES;

/** Those that `agentd simulate` can write to. */
export async function simulatedChannels(): Promise<string[]> {
  return (await bundled()).filter(({ simulator }) => simulator !== undefined).map(({ name }) => name);
}

/** What `agentd link` calls those whose users can be linked. */
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
