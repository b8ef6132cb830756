import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { loadBundled } from '../../daemon/admin/channels.ts';

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
  const { plugins } = await loadBundled();
  return plugins.map(({ plugin }) => plugin);
}
