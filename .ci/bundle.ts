import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/**
 * Modules that are loaded by their path: by bin/agentd.js, by tests, by `exports` of package.json, by the plugin
 * loader.
 */
const ENTRY_POINTS = [
  'src/cli/{main,program}.ts',
  'src/{agent,channel}/index.ts',
  'src/channel/{conformance,markdown}.ts',
  'plugins/*/{index,shop-page}.ts',
];

/**
 * A module finds the files beside it through `import.meta.url`, and keeps doing so: it sees the URL that it would have
 * if it were not bundled. Every bundle is two folders below the directory of the build, which makes that URL the same
 * from each of them.
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
 * Bundles the program into few files, since most of the time of a start was the loading of hundreds of modules. Names
 * are kept as they are, for stack traces. Packages stay outside.
 * @param outdir the directory of the build
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
