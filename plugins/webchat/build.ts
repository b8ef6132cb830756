import { cpSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuildOptions, build, type Plugin, transform } from 'esbuild';

const SCRIPTS = { 'widget/widget': 'widget/main.ts', 'demo/shop': 'demo/shop.ts' };
/** The parts of the widget that are loaded when they are needed. */
const PARTS = {
  'widget/card': 'widget/card/card.ts',
  'widget/feedback': 'widget/feedback/feedback.ts',
  'widget/continue': 'widget/continue/main.ts',
  'widget/qr': 'widget/continue/qr.ts',
  'widget/tab': 'widget/tab/tab-memory.ts',
};
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
  const points = (scripts: Readonly<Record<string, string>>) =>
    Object.entries(scripts).map(([out, name]) => ({ out, in: source(name) }));
  const options: BuildOptions = {
    outdir,
    bundle: true,
    minify: true,
    target: 'es2022',
    charset: 'utf8',
    plugins: [styles],
  };
  await build({ ...options, entryPoints: points(SCRIPTS), format: 'iife', legalComments: 'none' });
  await build({ ...options, entryPoints: points(PARTS), format: 'esm', legalComments: 'inline' });
  await build({
    entryPoints: [source('widget/load-widget.ts')],
    outdir: join(outdir, 'widget'),
    format: 'esm',
    target: 'es2022',
  });
  for (const page of PAGES) cpSync(source(page), join(outdir, page));
}
