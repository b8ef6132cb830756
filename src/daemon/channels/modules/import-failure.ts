import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { describeThrown, sourceLocation } from '../../syntax/source-location.ts';

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
  const lines = (await textOf(importer)).split('\n');
  const at = lines.findIndex((line) => /\b(?:from|import)\b/.test(line) && line.includes(name));
  return at === -1 ? importer : `${importer}:${at + 1}`;
}

/** The first module with a syntax error, among the imported module and the modules that it imports. */
async function syntaxErrorBelow(file: string): Promise<string | null> {
  const files = new Set([file]);
  for (const one of files) {
    const location = await syntaxErrorIn(one);
    if (location !== null) return location;
    for (const [, specifier = ''] of (await textOf(one)).matchAll(IMPORTED)) {
      const next = resolve(dirname(one), specifier);
      if (files.size < FILES_MAX && (await isFile(next))) files.add(next);
    }
  }
  return null;
}

/** Has Node check the syntax of the file, without running it. */
function syntaxErrorIn(file: string): Promise<string | null> {
  return new Promise((found) => {
    execFile(process.execPath, ['--check', file], { timeout: CHECK_MS }, (error, _stdout, stderr) => {
      found(error === null ? null : sourceLocation(Object.assign(new Error(), { stack: stderr })));
    });
  });
}

/**
 * The text of a file. Empty if the file cannot be read: the reason for the failure is already known, and only the line
 * is then missing.
 */
async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

async function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}
