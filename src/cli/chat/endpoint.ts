import type { ChannelPlugin, EventStreamPaths } from '../../channel/index.ts';
import type { Health } from '../daemon-health.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

/**
 * Where the event streams of a daemon are, by the channels that it says are active.
 * @throws CliError (1) where none of them has any
 */
export async function eventStreamOf({ platforms }: Pick<Health, 'platforms'>): Promise<EventStreamPaths> {
  const { bundledPlugins } = await import('../../daemon/plugin/locate.ts');
  const bundled = await bundledPlugins();
  for (const name of platforms) {
    const file = bundled.get(name);
    const paths = file === undefined ? undefined : (await pluginIn(file))?.eventStream;
    if (paths) return paths;
  }
  const switches: string[] = [];
  for (const file of bundled.values()) {
    const plugin = await pluginIn(file);
    const setting = plugin?.eventStream && plugin.settings.find(({ name }) => name.endsWith('_ENABLED'));
    if (plugin && setting) switches.push(`${setting.name}=true`, `${plugin.name} in MESSAGING_PLATFORMS`);
  }
  const active = platforms.length > 0 ? ` (active: ${platforms.join(', ')})` : '';
  throw new CliError(
    EXIT.no,
    `the daemon has no channel that answers on event streams${active}`,
    `Set ${switches.join(', or put ')}, and start it again.`,
  );
}

async function pluginIn(file: string): Promise<ChannelPlugin | null> {
  const { importPlugin } = await import('../../daemon/plugin/import.ts');
  const imported = await importPlugin(file);
  return imported.ok ? (imported.plugin as unknown as ChannelPlugin) : null;
}
