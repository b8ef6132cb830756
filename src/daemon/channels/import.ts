import { CHANNEL_API_VERSION } from '../../channel/index.ts';
import { importModule } from './modules/import-module.ts';
import { inWords, type Refusal } from './modules/refusal.ts';

export type Imported = { ok: true; plugin: Record<string, unknown> } | { ok: false; refusal: Refusal };

/**
 * Imports a plugin's module and checks only the `apiVersion` of the plugin. Nothing else of the plugin is read or
 * called before this check. An error in the module is returned as a refusal, and not thrown.
 */
export async function importPlugin(file: string): Promise<Imported> {
  const imported = await importModule(file, 'a channel plugin as default export');
  if (!imported.ok) return imported;
  const { value: plugin } = imported;
  if (typeof plugin !== 'object' || plugin === null) {
    return refuse(
      `has ${inWords(plugin)} as default export`,
      'a channel plugin (an object) as default export',
    );
  }
  const { apiVersion } = plugin as { apiVersion?: unknown };
  if (apiVersion !== CHANNEL_API_VERSION) {
    const found = apiVersion === undefined ? 'no apiVersion' : `apiVersion ${inWords(apiVersion)}`;
    return refuse(
      `has ${found}, but this agentd supports ${CHANNEL_API_VERSION}`,
      `a version of the plugin for apiVersion ${CHANNEL_API_VERSION}, or another version of agentd`,
    );
  }
  return { ok: true, plugin: plugin as Record<string, unknown> };
}

function refuse(problem: string, right: string): Imported {
  return { ok: false, refusal: { problem, right } };
}
