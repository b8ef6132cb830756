import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { dynamicImportVarsPlugin, importGlobPlugin } from 'rolldown/experimental';

const ROOT = join(import.meta.dirname, '..');

/**
 * Modules that are loaded by their path: by bin/agentd.js, tests, `exports` in package.json, or the plugin loader.
 */
const ENTRY_POINTS = [
  'src/cli/{main,program}.ts',
  'src/{agent,channel}/index.ts',
  'src/channel/{conformance,markdown}.ts',
  'plugins/*/{index,shop-page}.ts',
];

/**
 * A module finds the files beside it through `import.meta.url`. This plugin replaces `import.meta.url` with the URL
 * that the module would have if it were not bundled. The replacement is relative to the URL of the bundle, and is the
 * same for all bundles, because each of them is two folders below the build directory.
 */
const moduleUrls: Plugin = {
  name: 'module-urls',
  load: {
    filter: { id: /\.ts$/ },
    async handler(id) {
      const url = `../../${relative(ROOT, id).replace(/\.ts$/, '.js')}`;
      const source = await readFile(id, 'utf8');
      return source.replaceAll('import.meta.url', `new URL('${url}', import.meta.url).href`);
    },
  },
};

/** The modules that import a module, directly or not, among those that are loaded by a path or by `import()`. */
type Loaders = readonly string[];

/** In how many commands a module must be if it is loaded with the modules that most commands need. */
const COMMANDS_MIN = 12;

const COMMAND = /^src\/cli\/commands\//;
const KERNEL = /\/kernels\/\w+\/store\.ts$/;
const DAEMON = /^src\/daemon\/(run|check-parts|eval\/run-cases|tools\/.+)\.ts$/;

/**
 * Which modules share a file, because they are nearly always loaded together. A module belongs to the first that fits.
 * All others are in one file with those that have the same loaders. A file for each set of loaders would be hundreds of
 * small files, and loading one takes longer than to run it.
 */
const SHARED: Readonly<Record<string, (loaders: Loaders) => boolean>> = {
  main: (loaders) => loaders.includes('src/cli/main.ts'),
  help: (loaders) => loaders.includes('src/cli/help.ts'),
  program: (loaders) => loaders.includes('src/cli/program.ts'),
  commands: (loaders) => loaders.filter((path) => COMMAND.test(path)).length >= COMMANDS_MIN,
  store: (loaders) => loaders.filter((path) => KERNEL.test(path)).length > 1,
  configuration: (loaders) => loaders.includes('src/daemon/settings/configure/configure.ts'),
  daemon: (loaders) => loaders.includes('src/daemon/run.ts') && loaders.every((path) => DAEMON.test(path)),
};

/** The file of each module that shares one, by its id. */
const shared = new Map<string, string>();

const sharedFiles: Plugin = {
  name: 'shared-files',
  buildEnd() {
    const loaders = new Map<string, string[]>();
    for (const id of this.getModuleIds()) {
      const info = this.getModuleInfo(id);
      if (!info?.isEntry && !info?.dynamicImporters.length) continue;
      const loaded = new Set([id]);
      for (const one of loaded)
        for (const imported of this.getModuleInfo(one)?.importedIds ?? []) loaded.add(imported);
      for (const one of loaded) loaders.set(one, [...(loaders.get(one) ?? []), relative(ROOT, id)]);
    }
    for (const [id, found] of loaders) {
      if (this.getModuleInfo(id)?.isEntry) continue;
      const file = Object.keys(SHARED).find((name) => SHARED[name]?.(found));
      if (file !== undefined) shared.set(id, file);
    }
    const files = new Set(shared.values());
    for (const name of Object.keys(SHARED))
      if (!files.has(name)) throw new Error(`no module is in the shared file "${name}": a path has changed`);
  },
};

/**
 * Bundles the program into a few files, because loading hundreds of modules took most of the startup time. Names are
 * not minified, so that stack traces stay readable. Packages are not bundled.
 * @param outdir the build directory
 */
export async function bundleProgram(outdir: string): Promise<void> {
  const entries = globSync(ENTRY_POINTS, { cwd: ROOT, exclude: ['plugins/template'] });
  const bundle = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(entries.map((file) => [file.replace(/\.ts$/, ''), `./${file}`])),
    platform: 'node',
    transform: { target: 'node22.18' },
    external: (id) => /^(@|\w)/.test(id),
    preserveEntrySignatures: 'allow-extension',
    // A busy machine would read on each build which part of it was slow.
    checks: { ineffectiveDynamicImport: false, bundlerTimings: false },
    plugins: [moduleUrls, sharedFiles, dynamicImportVarsPlugin(), importGlobPlugin()],
  });
  const { output } = await bundle.write({
    dir: outdir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'src/bundled/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'shared', name: (id) => shared.get(id) ?? null }],
    },
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: false,
  });
  await bundle.close();
  for (const { fileName } of output)
    if (fileName.split('/').length !== 3)
      throw new Error(`${fileName} is not two folders below the directory of the build`);
}
