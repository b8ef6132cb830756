import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describeValue } from '../../channel/fit.ts';
import { CHANNEL_API_VERSION } from '../../channel/index.ts';
import { type Imported, importModule, refuse } from './modules/import-module.ts';
import { isFile } from './modules/locate-module.ts';

/**
 * Imports a plugin's module and checks only the `apiVersion` of the plugin. Nothing else of the plugin is read or
 * called before this check. An error in the module is returned as a refusal, and not thrown.
 */
export async function importPlugin(file: string): Promise<Imported<Record<string, unknown>>> {
  const imported = await importModule(file, 'a channel plugin as default export');
  if (!imported.ok) return imported;
  const { value: plugin } = imported;
  if (typeof plugin !== 'object' || plugin === null) {
    return refuse(
      `has ${describeValue(plugin)} as default export`,
      'a channel plugin (an object) as default export',
    );
  }
  const { apiVersion } = plugin as { apiVersion?: unknown };
  if (apiVersion !== CHANNEL_API_VERSION) {
    const found = apiVersion === undefined ? 'no apiVersion' : `apiVersion ${describeValue(apiVersion)}`;
    return refuse(
      `has ${found}, but this agentd supports ${CHANNEL_API_VERSION}`,
      `a version of the plugin for apiVersion ${CHANNEL_API_VERSION}, or another version of agentd`,
    );
  }
  return { ok: true, value: plugin as Record<string, unknown> };
}

/** The folder of the bundled channels, in the sources or in the build. */
const BUNDLED = new URL('../../../plugins/', import.meta.url);
const ENDING = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const TEMPLATE = 'template';

/** The address of a module of a bundled channel, whether or not there is one. @param name without its ending */
export function bundledModule(channel: string, name: string): URL {
  return new URL(`${channel}/${name}${ENDING}`, BUNDLED);
}

let bundled: Promise<Map<string, string>> | undefined;

/**
 * The folders of `plugins/` that are channels: name → module. They are read once: while a daemon runs, an upgrade may
 * replace them.
 */
export function bundledPlugins(): Promise<Map<string, string>> {
  bundled ??= findBundled();
  return bundled;
}

async function findBundled(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const entries = await readdir(BUNDLED, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = fileURLToPath(bundledModule(entry.name, 'index'));
    if (entry.isDirectory() && entry.name !== TEMPLATE && (await isFile(file))) found.set(entry.name, file);
  }
  return found;
}
