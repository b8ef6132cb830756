import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

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
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const url = `../../${relative(ROOT, path).replace(/\.ts$/, '.js')}`;
      const source = await readFile(path, 'utf8');
      return {
        contents: source.replaceAll('import.meta.url', `new URL('${url}', import.meta.url).href`),
        loader: 'ts',
      };
    });
  },
};

/**
 * Bundles the program into a few files, because loading hundreds of modules took most of the startup time. Names are
 * not minified, so that stack traces stay readable. Packages are not bundled.
 * @param outdir the build directory
 */
export async function bundleProgram(outdir: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: globSync(ENTRY_POINTS, { cwd: ROOT, exclude: ['plugins/template'] }).map(
      (file) => `./${file}`,
    ),
    outbase: ROOT,
    outdir,
    chunkNames: 'src/bundled/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.18',
    packages: 'external',
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    plugins: [moduleUrls],
  });
  for (const file of Object.keys(metafile.outputs)) {
    if (relative(outdir, join(ROOT, file)).split('/').length !== 3)
      throw new Error(`${file} is not two folders below the directory of the build`);
  }
}
