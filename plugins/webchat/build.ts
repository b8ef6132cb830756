import { cpSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin, transform } from 'esbuild';

const SCRIPTS = { 'widget/widget': 'widget/main.ts', 'demo/shop': 'demo/shop.ts' };
const PAGES = ['demo/index.html', 'demo/shop.css', 'chat/index.html', 'chat/page.css'];

/** Minifies a style sheet, which becomes a string in the script. */
const styles: Plugin = {
  name: 'styles',
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
      // The minifier keeps spaces in custom properties, and quotes in selectors.
      const small = code
        .trim()
        .replace(/(?<=--[\w-]+:|,) /g, '')
        .replace(/="(\w+)"/g, '=$1');
      return { contents: small, loader: 'text' };
    });
  },
};

/**
 * Bundles and minifies the files for browsers, each script into one file, and compiles `agentd/widget`. Part of `npm run build`.
 * @param outdir folder of the compiled plugin, which serves the files
 */
export async function bundleBrowserFiles(outdir: string): Promise<void> {
  const source = (name: string) => join(import.meta.dirname, name);
  await build({
    entryPoints: Object.entries(SCRIPTS).map(([out, name]) => ({ out, in: source(name) })),
    outdir,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    plugins: [styles],
  });
  await build({
    entryPoints: [source('widget/continue/main.ts')],
    outfile: join(outdir, 'widget/continue.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'inline',
    plugins: [styles],
  });
  await build({
    entryPoints: [source('widget/load-widget.ts')],
    outdir: join(outdir, 'widget'),
    format: 'esm',
    target: 'es2022',
  });
  for (const page of PAGES) cpSync(source(page), join(outdir, page));
}
