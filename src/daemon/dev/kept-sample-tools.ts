import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SAMPLE_TOOLS } from '../../../plugins/sample/api.ts';
import type { StructuredValue } from '../settings/sources.ts';

/** The OpenAPI document of the sample API. The file is in `.agentd/` while `serve --dev` uses that API. */
export const DOCUMENT_FILE = 'shop.openapi.json';

/** The tools of `serve --dev` in this folder, for a command in a second terminal. Empty without the sample API. */
export function keptSampleTools(folder: string): StructuredValue[] {
  return existsSync(join(folder, DOCUMENT_FILE)) ? [sampleTools(folder, `./${DOCUMENT_FILE}`)] : [];
}

/** The value of `tools:` with which `serve --dev` gives the agent the sample API. */
export function sampleTools(folder: string, document: string): StructuredValue {
  return {
    key: 'tools',
    value: [{ openapi: document, ...SAMPLE_TOOLS }],
    source: 'serve --dev',
    folder,
    lineOf: () => null,
  };
}
