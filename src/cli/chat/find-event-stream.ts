import type { ChannelPlugin, EventStreamPaths } from '../../channel/index.ts';
import { failed } from '../cli-error.ts';
import type { Health } from '../daemon-health.ts';

/**
 * The paths of the event streams of a daemon, according to its active channels.
 * @throws CliError (1) if no active channel has event streams
 */
export async function findEventStream({ platforms }: Pick<Health, 'platforms'>): Promise<EventStreamPaths> {
  const { bundledPlugins } = await import('../../daemon/plugin/bundled-plugins.ts');
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
    if (plugin && setting)
      switches.push(`set ${setting.name}=true, or add ${plugin.name} to MESSAGING_PLATFORMS`);
  }
  const active = platforms.length > 0 ? ` (active: ${platforms.join(', ')})` : '';
  throw failed(
    `the daemon has no channel with event streams${active}`,
    `In the settings of the daemon, ${switches.join('; or ')}. Then restart it.`,
  );
}

async function pluginIn(file: string): Promise<ChannelPlugin | null> {
  const { importPlugin } = await import('../../daemon/plugin/import.ts');
  const imported = await importPlugin(file);
  return imported.ok ? (imported.plugin as unknown as ChannelPlugin) : null;
}
