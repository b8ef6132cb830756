import { resolve } from 'node:path';
import type { EntryPlace, OpenApiEntry } from '../../../tools/source-entry.ts';
import type { ConfigNode } from '../config-node.ts';
import type { EntryContext } from './read-source-entries.ts';
import { readName, readSourcePolicy, readUrl } from './source-policy.ts';
import { readToolEntries } from './tool-entries.ts';

const OPENAPI_KEYS = [
  'openapi',
  'name',
  'base_url',
  'credentials',
  'credential',
  'exchange',
  'headers',
  'secrets',
  'operations',
];

/** Reads an entry with the key `openapi`; undefined if it has a problem. The document itself is not read. */
export function readOpenApiEntry(node: ConfigNode, context: EntryContext): OpenApiEntry | undefined {
  node.onlyKeys(OPENAPI_KEYS);
  const path = node.child('openapi').text('the path of an OpenAPI document, JSON or YAML');
  const name = readName(node);
  const base_url = readBaseUrl(node.child('base_url'), context);
  const list = node.child('operations');
  const operations = readToolEntries(list, 'openapi');
  const policy = readSourcePolicy(
    node,
    { url: base_url, api: context.api_base_url },
    { node: list, entries: operations },
    { values: context.secrets, byDefault: 'own-origin' },
  );
  if (path === undefined || name === undefined || base_url === undefined) return undefined;
  return {
    kind: 'openapi',
    place: `${node.setting} (${node.source})`,
    places: {
      document: placeOf(node.child('openapi')),
      operations: Object.fromEntries(Object.keys(operations).map((key) => [key, placeOf(list.child(key))])),
    },
    path: resolve(node.folder, path),
    name,
    base_url,
    operations,
    ...policy,
  };
}

function placeOf({ setting, source }: ConfigNode): EntryPlace {
  return { setting, source };
}

function readBaseUrl(node: ConfigNode, { api_base_url }: EntryContext): string | undefined {
  if (!node.isAbsent) return readUrl(node, { query: false });
  if (api_base_url === null)
    return node.refuse(
      'is not set, and API_BASE_URL is not set either',
      'the address of the API, in one of the two places',
    );
  return api_base_url;
}
