/** Makes the pages for man(1) from the Markdown in the folder above. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeMdoc } from './mdoc.ts';
import { readPage } from './page.ts';

const SOURCES = new URL('../', import.meta.url);

/** File of the page for man(1) → its content. */
export function mdocPages(): Map<string, string> {
  const pages = new Map<string, string>();
  for (const file of readdirSync(SOURCES)
    .filter((name) => name.endsWith('.md'))
    .sort()) {
    try {
      pages.set(file.replace(/\.md$/, ''), writeMdoc(readPage(readFileSync(new URL(file, SOURCES), 'utf8'))));
    } catch (cause) {
      throw new Error(`man/${file}: ${(cause as Error).message}`, { cause });
    }
  }
  return pages;
}

export function writeMdocPages(directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const [file, content] of mdocPages()) writeFileSync(join(directory, file), content);
}
