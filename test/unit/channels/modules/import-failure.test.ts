import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { constants, runInThisContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { importFailure } from '../../../../src/daemon/channels/modules/import-module.ts';

/** Node's own `import()`, as the daemon uses it. The test runner replaces `import()` in the files that it runs. */
const load = runInThisContext('(url) => import(url)', {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}) as (url: string) => Promise<unknown>;

/**
 * Imports the first of these files as the daemon does.
 * @returns why the import failed
 */
async function failureOf(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentd-import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const file = join(folder, Object.keys(files)[0] ?? '');
  const error = await load(pathToFileURL(file).href).then(
    () => expect.fail('the import should have failed'),
    (thrown: unknown) => thrown,
  );
  return (await importFailure(error, file)).replaceAll(folder, '');
}

const GOOD = 'export const good = 1;\n';

test.each<[what: string, files: Record<string, string>, failure: string | RegExp]>([
  [
    'a syntax error in JavaScript',
    { 'p.mjs': 'const a = 1;\nconst b = ;\n' },
    "SyntaxError: Unexpected token ';' (at /p.mjs:2)",
  ],
  [
    'a syntax error in TypeScript',
    { 'p.ts': 'const a = 1;\n\nconst b: = 2;\n' },
    /^SyntaxError: .+ \(at \/p\.ts:3\)$/,
  ],
  [
    'TypeScript syntax that cannot be stripped',
    { 'p.ts': '\nenum A { B }\n' },
    'SyntaxError: TypeScript enum is not supported in strip-only mode (at /p.ts:2)',
  ],
  [
    'a syntax error in an imported file',
    { 'p.mjs': "import './good.mjs';\nimport './q.mjs';\n", 'good.mjs': GOOD, 'q.mjs': '\n\n{' },
    'SyntaxError: Unexpected end of input (at /q.mjs:3)',
  ],
  [
    'an import of a name that another file does not export',
    { 'p.mjs': "\nimport { nope } from './good.mjs';\n", 'good.mjs': GOOD },
    "SyntaxError: The requested module './good.mjs' does not provide an export named 'nope' (at /p.mjs:2)",
  ],
  [
    'an import of a file that is missing',
    { 'p.mjs': "import './good.mjs';\nimport { x } from './gone.mjs';\n", 'good.mjs': GOOD },
    "Cannot find module '/gone.mjs' imported from /p.mjs (at /p.mjs:2)",
  ],
  [
    'an import of a package that is missing',
    { 'p.mjs': "\n\nimport { x } from 'no-such-package';\n" },
    "Cannot find package 'no-such-package' imported from /p.mjs (at /p.mjs:3)",
  ],
  [
    'an error that the module throws',
    { 'p.ts': "\nthrow new TypeError('no luck');\n" },
    'TypeError: no luck (at /p.ts:2)',
  ],
  [
    'an error of Node that the module does not catch',
    { 'p.mjs': "import fs from 'node:fs';\nfs.readFileSync('/no/such/file');\n" },
    "ENOENT: no such file or directory, open '/no/such/file' (at /p.mjs:2)",
  ],
  [
    'a thrown value that is not an error',
    { 'p.mjs': "throw 'no luck';\n" },
    'it threw "no luck" (at /p.mjs)',
  ],
])('the report of %s names the file, and the line if there is one', async (_what, files, failure) => {
  expect(await failureOf(files)).toEqual(
    typeof failure === 'string' ? failure : expect.stringMatching(failure),
  );
});
