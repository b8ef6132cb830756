import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SAMPLE_TOOLS } from '../../../plugins/sample/document.ts';
import { isLoopback } from '../settings/addresses.ts';
import type { Settings } from '../settings/settings.ts';
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
    findLine: () => null,
  };
}

/** The account of the service at the sample API of `serve --dev`. */
export const API_ACCOUNT = { email: 'service@example.com', password: 'the-password-of-the-sample-api' };

/** Whether the business API is the sample API, which exists only while `serve --dev` runs. */
export function isSampleApi({
  API_BASE_URL,
  API_EMAIL,
  API_PASSWORD,
}: Pick<Settings, 'API_BASE_URL' | 'API_EMAIL' | 'API_PASSWORD'>): boolean {
  const url = URL.parse(API_BASE_URL ?? '');
  return (
    url !== null &&
    isLoopback(url) &&
    API_EMAIL === API_ACCOUNT.email &&
    API_PASSWORD?.reveal() === API_ACCOUNT.password
  );
}
