import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { importFailure } from './import-failure.ts';
import type { Refusal } from './refusal.ts';

/**
 * How long importing a module may take, ms. Modules must not have side effects. The limit is for a module that has
 * some, and does not finish because of them.
 */
const IMPORT_MS = 10_000;

export type Imported = { ok: true; value: unknown } | { ok: false; refusal: Refusal };

/**
 * The default export of a module. An error in the module is returned as a refusal, and not thrown.
 * @param wanted description of the correct default export, such as `a channel plugin as default export`
 */
export async function importModule(file: string, wanted: string): Promise<Imported> {
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
  const { default: value } = module;
  if (value === undefined) {
    const names = Object.keys(module);
    const came = names.length === 0 ? 'exports nothing' : `exports only ${names.slice(0, 5).join(', ')}`;
    return refuse(`has no default export (it ${came})`, wanted);
  }
  return { ok: true, value };
}

/** Node strips types only from files outside of node_modules. It decides this by the real path of the file. */
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
