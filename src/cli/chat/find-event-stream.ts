import type { EventStreamPaths } from '../../channel/index.ts';
import { eachBundled, loadOneBundled } from '../../daemon/admin/channels.ts';
import { failed } from '../cli-error.ts';
import type { Health } from '../daemon-health.ts';

/**
 * The paths of the event streams of a daemon, according to its active channels.
 * @throws CliError (1) if no active channel has event streams
 */
export async function findEventStream({ platforms }: Pick<Health, 'platforms'>): Promise<EventStreamPaths> {
  for (const name of platforms) {
    const paths = (await loadOneBundled(name))?.eventStream;
    if (paths) return paths;
  }
  const switches: string[] = [];
  for await (const plugin of eachBundled()) {
    const setting = plugin.eventStream && plugin.settings.find(({ name }) => name.endsWith('_ENABLED'));
    if (setting) switches.push(`set ${setting.name}=true, or add ${plugin.name} to MESSAGING_PLATFORMS`);
  }
  const active = platforms.length > 0 ? ` (active: ${platforms.join(', ')})` : '';
  throw failed(
    `the daemon has no channel with event streams${active}`,
    `In the settings of the daemon, ${switches.join('; or ')}. Then restart it.`,
  );
}
