import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { dirname, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Refusal } from '../../../channel/fit.ts';
import { describeThrown, sourceLocation } from '../../syntax/source-location.ts';
import { within } from '../../time/time-limit.ts';
import { isFile } from './locate-module.ts';

/**
 * How long importing a module may take, ms. Modules must not have side effects. The limit is for a module that has
 * some, and does not finish because of them.
 */
const IMPORT_MS = 10_000;

export type Imported<Value = unknown> = { ok: true; value: Value } | { ok: false; refusal: Refusal };

/**
 * The default export of a module. An error in the module is returned as a refusal, and not thrown.
 * @param wanted description of the correct default export, such as `a channel plugin as default export`
 * @param options.fresh whether the file is read again if it has changed since it was first imported. The modules that
 * it imports are not read again.
 */
export async function importModule(file: string, wanted: string, { fresh = false } = {}): Promise<Imported> {
  if (await isTypeScriptOfPackage(file)) {
    return refuse('is TypeScript under node_modules, which Node does not run', 'a package that ships .js');
  }
  let module: { default?: unknown };
  try {
    const importing = import(`${pathToFileURL(file).href}${fresh ? await hashContent(file) : ''}`);
    module = await within(importing, IMPORT_MS, () => {
      throw new Error(`it was not loaded within ${IMPORT_MS / 1000} seconds`);
    });
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

/** The hash of each file when it was first imported. */
const firstImports = new Map<string, string>();

/**
 * What makes Node.js load the current content of a file, and not a module that it has loaded before: a query for each
 * content other than the first. Equal contents are one module, so reading a file again and again takes no memory.
 */
async function hashContent(file: string): Promise<string> {
  const content = await readFile(file).catch(() => '');
  const digest = hash('sha256', content, 'hex').slice(0, 16);
  const first = firstImports.get(file) ?? digest;
  firstImports.set(file, first);
  return first === digest ? '' : `?${digest}`;
}

/** Node strips types only from files outside of node_modules. It decides this by the real path of the file. */
async function isTypeScriptOfPackage(file: string): Promise<boolean> {
  return /\.[cm]?ts$/.test(file) && (await realpath(file)).split(sep).includes('node_modules');
}

export function refuse(problem: string, right: string): Extract<Imported, { ok: false }> {
  return { ok: false, refusal: { problem, right } };
}

/** Maximum number of files that are searched for the syntax error. */
const FILES_MAX = 50;
const CHECK_MS = 5_000;
const IMPORTED = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;
const NOT_FOUND = /^Cannot find (?:module|package) '([^']+)' imported from (.+)$/;

/**
 * Says on one line why a plugin or runtime could not be imported, with file and line. Node's error does not have the
 * location of syntax errors in JavaScript and of imports that cannot be resolved.
 * @param file the module that was imported.
 */
export async function importFailure(error: unknown, file: string): Promise<string> {
  return describeThrown(error, sourceLocation(error) ?? (await locationIn(error, file)) ?? file);
}

async function locationIn(error: unknown, file: string): Promise<string | null> {
  if (!(error instanceof Error)) return null;
  const [, missing, importer] = NOT_FOUND.exec(error.message) ?? [];
  if (missing !== undefined && importer !== undefined) return importLine(importer, missing);
  return error instanceof SyntaxError ? syntaxErrorBelow(file) : null;
}

/** The line that imports the missing module. */
async function importLine(importer: string, missing: string): Promise<string> {
  const name = missing.startsWith('/') ? missing.slice(missing.lastIndexOf('/') + 1) : missing;
  const lines = (await readText(importer)).split('\n');
  const at = lines.findIndex((line) => /\b(?:from|import)\b/.test(line) && line.includes(name));
  return at === -1 ? importer : `${importer}:${at + 1}`;
}

/** The first module with a syntax error, among the imported module and the modules that it imports. */
async function syntaxErrorBelow(file: string): Promise<string | null> {
  const files = new Set([file]);
  for (const one of files) {
    const location = await syntaxErrorIn(one);
    if (location !== null) return location;
    for (const [, specifier = ''] of (await readText(one)).matchAll(IMPORTED)) {
      const next = resolve(dirname(one), specifier);
      if (files.size < FILES_MAX && (await isFile(next))) files.add(next);
    }
  }
  return null;
}

/** Has Node check the syntax of the file, without running it. */
function syntaxErrorIn(file: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], { timeout: CHECK_MS }, (error, _stdout, stderr) => {
      resolve(error === null ? null : sourceLocation(Object.assign(new Error(), { stack: stderr })));
    });
  });
}

/**
 * The text of a file. Empty if the file cannot be read: the reason for the failure is already known, and only the line
 * is then missing.
 */
async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

/** The modules of agentd that plugins and runtimes may import. */
const CONTRACTS = /^agentd\/(?:agent|channel(?:\/markdown)?)$/;

let areProvided = false;

/**
 * Lets modules of the operator import the contracts even if agentd is not installed in their folder, for example from a
 * single file, or from a package next to a global agentd. They get this daemon's copy. If agentd is installed there,
 * Node's own resolution finds it first.
 */
export function provideContracts(): void {
  if (areProvided) return;
  areProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!CONTRACTS.test(specifier)) return nextResolve(specifier, context);
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
