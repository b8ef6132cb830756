/**
 * Bundles and minifies the files for browsers, one script each, next to the compiled plugin that serves them. Part of
 * `npm run build`.
 */
import { cpSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build, type Plugin, transform } from 'esbuild';

const ROOT = new URL('../../', import.meta.url);
const SCRIPTS = { 'widget/widget': 'widget/main.ts', 'demo/shop': 'demo/shop.ts' };
const PAGES = ['demo/index.html', 'demo/shop.css'];

/** A style sheet is minified and becomes a string in the script. */
const styles: Plugin = {
  name: 'styles',
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
      // The minifier leaves spaces in custom properties, and quotes in selectors.
      const small = code
        .trim()
        .replace(/(?<=--[\w-]+:|,) /g, '')
        .replace(/="(\w+)"/g, '=$1');
      return { contents: small, loader: 'text' };
    });
  },
};

const path = (name: string) => fileURLToPath(new URL(name, ROOT));

await build({
  entryPoints: Object.entries(SCRIPTS).map(([out, source]) => ({
    out,
    in: path(`plugins/webchat/${source}`),
  })),
  outdir: path('dist/plugins/webchat'),
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  plugins: [styles],
});
for (const page of PAGES) cpSync(path(`plugins/webchat/${page}`), path(`dist/plugins/webchat/${page}`));
