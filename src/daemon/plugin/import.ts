import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CHANNEL_API_VERSION } from '../../channel/index.ts';
import { importFailure } from '../import-failure.ts';
import { inWords, type Refusal } from './refusal.ts';

/** How long importing a module may take: it must have no side effects, so this is for those that do, ms. */
const IMPORT_MS = 10_000;

export type Imported = { ok: true; plugin: Record<string, unknown> } | { ok: false; refusal: Refusal };

/**
 * Imports a plugin's module and looks at one thing only, its `apiVersion`, before anything else of it is read
 * or run. Never throws for what the module does.
 */
export async function importPlugin(file: string): Promise<Imported> {
  if (await isTypeScriptOfPackage(file)) {
    return refuse('is TypeScript under node_modules, which Node does not run', 'a package that ships .js');
  }
  let module: { default?: unknown };
  try {
    module = await withinTime(import(pathToFileURL(file).href));
  } catch (error) {
    return refuse(
      `cannot be loaded: ${await importFailure(error, file)}`,
      'a module that loads without errors and side effects',
    );
  }
  const { default: plugin } = module;
  if (plugin === undefined) {
    const names = Object.keys(module);
    const came = names.length === 0 ? 'exports nothing' : `exports only ${names.slice(0, 5).join(', ')}`;
    return refuse(`has no default export (it ${came})`, 'a channel plugin as default export');
  }
  if (typeof plugin !== 'object' || plugin === null) {
    return refuse(
      `has ${inWords(plugin)} as default export`,
      'a channel plugin (an object) as default export',
    );
  }
  const { apiVersion } = plugin as { apiVersion?: unknown };
  if (apiVersion !== CHANNEL_API_VERSION) {
    return refuse(
      `has apiVersion ${inWords(apiVersion)}, and this agentd speaks ${CHANNEL_API_VERSION}`,
      `a version of the plugin for apiVersion ${CHANNEL_API_VERSION}, or another version of agentd`,
    );
  }
  return { ok: true, plugin: plugin as Record<string, unknown> };
}

/** Node strips types from the operator's own files only; it judges by where a file really is. */
async function isTypeScriptOfPackage(file: string): Promise<boolean> {
  return /\.[cm]?ts$/.test(file) && (await realpath(file)).split(sep).includes('node_modules');
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = setTimeout(IMPORT_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`it was not loaded within ${IMPORT_MS / 1000} seconds`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}

function refuse(problem: string, right: string): Imported {
  return { ok: false, refusal: { problem, right } };
}
