import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { linkTree } from './link-tree.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CHUNKS = 'dist/src/bundled';

/**
 * Installs the build of this checkout with the packages that it needs, as `npm install -g` does: no file is outside of
 * the folder.
 */
export function installAgentd(folder: string): void {
  for (const name of ['bin', 'config', 'dist', 'plugins/template', 'package.json'])
    linkTree(join(ROOT, name), join(folder, name));
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  for (const [path, { dev, devOptional, optional }] of Object.entries(packages)) {
    const isInstalled = path !== '' && !dev && !devOptional && !optional;
    // A package below another one was installed with it.
    if (isInstalled && path.lastIndexOf('node_modules/') === 0)
      linkTree(join(ROOT, path), join(folder, path));
  }
}

/**
 * Makes another build of an installed one: another version, and modules that other modules load by names that the first
 * build does not have. Files with the same names have another content.
 */
export function makeOtherBuild(folder: string, version: string): void {
  const renamed = readdirSync(join(folder, CHUNKS)).filter((name) => name.endsWith('.js'));
  const names = new Map(renamed.map((name) => [name, name.replace(/\.js$/, '-other.js')]));
  for (const file of filesBelow(join(folder, 'dist')).filter((file) => file.endsWith('.js'))) {
    const text = readFileSync(file, 'utf8').replaceAll(/[\w-]+\.js/g, (name) => names.get(name) ?? name);
    replaceFile(file, text);
  }
  for (const [name, other] of names) renameSync(join(folder, CHUNKS, name), join(folder, CHUNKS, other));
  for (const file of ['dist/plugins/webchat/widget/widget.js', 'dist/plugins/webchat/demo/index.html'])
    replaceFile(join(folder, file), 'of the other build');
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as object;
  replaceFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
}

/** Puts the other installation in the place of the installed one, as npm does: it moves folders, then deletes. */
export function upgrade(installed: string, other: string): void {
  const old = `${installed}-old`;
  renameSync(installed, old);
  renameSync(other, installed);
  rmSync(old, { recursive: true });
}

/** The file may have further names outside of the folder, and they keep their content. */
function replaceFile(file: string, text: string): void {
  rmSync(file);
  writeFileSync(file, text);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}
