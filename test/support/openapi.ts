import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { describeSource } from '../../src/daemon/tools/describe-source.ts';
import { type ReadTools, readOpenApiTools } from '../../src/daemon/tools/openapi/openapi-source.ts';
import type { OpenApiEntry, ToolEntry } from '../../src/daemon/tools/source-entry.ts';
import type { Tool } from '../../src/daemon/tools/tool.ts';
import { openApiEntry } from './tools.ts';

export const API = 'https://api.example.com';

/** A document with these paths, as an object. */
export function documentOf(paths: object, rest: object = {}): object {
  return { openapi: '3.0.3', info: { title: 'Shop', version: '1' }, paths, ...rest };
}

/** Writes a document to a file, and returns its entry. The file is removed after the test. */
export function entryOf(
  document: object | string,
  operations: Readonly<Record<string, ToolEntry>>,
  rest: Partial<OpenApiEntry> = {},
): OpenApiEntry {
  const folder = mkdtempSync(join(tmpdir(), 'agentd-openapi-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'shop.openapi');
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document, null, 2));
  const places = Object.keys(operations).map((key) => [
    key,
    { setting: `tools[0].operations.${key}`, source: 'agentd.yaml, line 5' },
  ]);
  return openApiEntry({
    path,
    operations,
    locations: {
      document: { setting: 'tools[0].openapi', source: 'agentd.yaml, line 2' },
      operations: Object.fromEntries(places),
    },
    ...rest,
  });
}

/** The result of reading the entry. */
export function readEntry(entry: OpenApiEntry): Promise<ReadTools> {
  return readOpenApiTools(entry, describeSource(entry, API));
}

/** The tools of an entry as `entryOf` makes it. Throws if the entry has problems. */
export async function toolsOf(...entry: Parameters<typeof entryOf>): Promise<readonly Tool[]> {
  const { tools, problems } = await readEntry(entryOf(...entry));
  if (problems.length > 0) throw new Error(JSON.stringify(problems, null, 2));
  return tools;
}

/**
 * The problems of an entry as `entryOf` makes it, each as `setting problem`, with `shop.openapi` as the path of the
 * document.
 */
export async function problemsOf(...given: Parameters<typeof entryOf>): Promise<string[]> {
  const entry = entryOf(...given);
  const { tools, problems } = await readEntry(entry);
  if (problems.length > 0 && tools.length > 0) throw new Error('there are tools despite the problems');
  return problems.map(
    ({ setting, problem }) => `${setting} ${problem.replaceAll(entry.path, 'shop.openapi')}`,
  );
}
