import { resolve } from 'node:path';
import type {
  ListCredentials,
  McpEntry,
  ModuleEntry,
  OpenApiEntry,
  SourceEntry,
  SourcePolicy,
} from '../../../tools/source-entry.ts';
import { isSecureAddress } from '../../addresses.ts';
import type { SettingProblem } from '../../problem.ts';
import type { StructuredValue } from '../../sources.ts';
import { entryKeys, LIST_CREDENTIALS, MAX_TIMEOUT } from '../../tools-schema.ts';
import { ConfigNode, refuseRepeatedNames, withoutAbsent } from '../config-node.ts';
import {
  type EntrySecrets,
  fillSecrets,
  listedSecrets,
  RIGHT_EXCHANGE,
  readCredential,
  readEntrySecrets,
  readName,
  readSourcePolicy,
  readUrl,
} from './source-policy.ts';
import type { SourceSecrets } from './source-secrets.ts';
import { readToolEntries } from './tool-entries.ts';

/** The values that entries refer to. */
interface EntryContext {
  /** `API_BASE_URL`. Null if it is not set; undefined if it is wrong, which is reported. */
  readonly api_base_url: string | null | undefined;
  readonly secrets: SourceSecrets;
}

const RIGHT_LIST = 'a list of entries, each with the key openapi, mcp, command or module';

/** The reader for each kind of entry, by the key that every entry of the kind has. */
const READERS: Readonly<
  Record<string, (node: ConfigNode, context: EntryContext) => SourceEntry | undefined>
> = {
  openapi: readOpenApiEntry,
  mcp: readMcpEntry,
  command: readStdioEntry,
  module: readModuleEntry,
};

/** Checks the key `tools` of the configuration file (agentd-agent(7), "Sources"), and reports all problems together. */
export function readSourceEntries(
  file: StructuredValue | undefined,
  context: EntryContext,
): { entries: SourceEntry[]; problems: SettingProblem[] } {
  const problems: SettingProblem[] = [];
  if (file === undefined || file.value === null) return { entries: [], problems };
  const nodes = ConfigNode.of(file, problems).items(RIGHT_LIST);
  const entries = nodes.flatMap((node) => readEntry(node, context) ?? []);
  refuseRepeatedNames(nodes);
  return { entries, problems };
}

function readEntry(node: ConfigNode, context: EntryContext): SourceEntry | undefined {
  const kinds = Object.keys(READERS).filter((key) => !node.child(key).isAbsent);
  const [kind = ''] = kinds;
  const read = READERS[kind];
  if (read !== undefined && kinds.length === 1) return read(node, context);
  const problem =
    kinds.length === 0
      ? 'has no key that says what kind of source it is'
      : `has the keys ${kinds.join(' and ')}`;
  return node.refuse(problem, `an object with one of ${Object.keys(READERS).join(', ')}`);
}

/** Warnings about entries whose calls may take longer than a run of the agent. @param run_seconds AGENT_TIMEOUT_SECONDS */
export function longestCalls(entries: readonly SourceEntry[], run_seconds: number | undefined): string[] {
  return entries.flatMap((entry) =>
    entry.kind === 'mcp' && (entry.timeout_seconds ?? 0) > (run_seconds ?? Number.POSITIVE_INFINITY)
      ? [
          `${entry.location}: \`timeout_seconds\` is ${entry.timeout_seconds}, but AGENT_TIMEOUT_SECONDS ends a run after ${run_seconds}`,
        ]
      : [],
  );
}

/** Reads an entry with the key `module`; undefined if it has a problem. The module itself is not loaded. */
function readModuleEntry(node: ConfigNode): ModuleEntry | undefined {
  node.onlyKeys(entryKeys('module'));
  const module = node
    .child('module')
    .text('a path such as ./tools/refund.ts, or the name of an installed package');
  const credential = node.optional('credential', readCredential);
  if (module === undefined) return undefined;
  const { folder } = node;
  return withoutAbsent<ModuleEntry>({ kind: 'module', location: describe(node), module, folder, credential });
}

/** Reads an entry with the key `openapi`; undefined if it has a problem. The document itself is not read. */
function readOpenApiEntry(node: ConfigNode, context: EntryContext): OpenApiEntry | undefined {
  node.onlyKeys(entryKeys('openapi'));
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
    location: describe(node),
    locations: {
      document: node.child('openapi').location,
      operations: Object.fromEntries(Object.keys(operations).map((key) => [key, list.child(key).location])),
    },
    path: resolve(node.folder, path),
    name,
    base_url,
    operations,
    ...policy,
  };
}

function describe({ setting, source }: ConfigNode): string {
  return `${setting} (${source})`;
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

const RIGHT_COMMAND = 'the program and its arguments, such as [node, server.js]';
const RIGHT_LIST_HEADERS = `headers such as { Authorization: "Bearer \${DOCS_KEY}" }`;
const RIGHT_ENV = `names and values, such as { LOG: debug }; a secret as \${SETTING}`;

/**
 * Reads an entry with the key `mcp`: a server that is reached through streamable HTTP. Undefined if it has a problem.
 */
function readMcpEntry(node: ConfigNode, context: EntryContext): McpEntry | undefined {
  node.onlyKeys(entryKeys('mcp'));
  const url = readUrl(node.child('mcp'), { query: true });
  const name = readName(node);
  const list = node.child('tools');
  const tools = readToolEntries(list, 'mcp');
  const policy = readSourcePolicy(
    node,
    { url, api: context.api_base_url },
    { node: list, entries: tools },
    { values: context.secrets, byDefault: 'none' },
  );
  const list_credentials = readListCredentials(node, url, policy);
  const timeout_seconds = node.optional('timeout_seconds', readTimeout);
  if (url === undefined || name === undefined) return undefined;
  return withoutAbsent<McpEntry>({
    kind: 'mcp',
    location: describe(node),
    server: { url },
    name,
    tools,
    ...policy,
    list_credentials,
    timeout_seconds,
  });
}

function readListCredentials(
  node: ConfigNode,
  url: string | undefined,
  { headers }: SourcePolicy,
): ListCredentials | undefined {
  const child = node.child('list_credentials');
  const chosen = child.isAbsent ? undefined : child.choice(LIST_CREDENTIALS);
  if (chosen === 'headers' && Object.keys(headers).length === 0 && node.child('headers').isAbsent)
    return child.refuseValue('needs the key `headers` of the entry', RIGHT_LIST_HEADERS);
  if (chosen === 'exchange' && node.child('exchange').isAbsent)
    return child.refuseValue('needs the key `exchange` of the entry', RIGHT_EXCHANGE);
  if (chosen === 'exchange' && url !== undefined && !isSecureAddress(url))
    return child.refuseValue(
      'sends a token to an address that is not https, where it can be read on the way',
      'an https or loopback address for this source',
    );
  return chosen;
}

function readTimeout(node: ConfigNode): number | undefined {
  return node.integer(1, MAX_TIMEOUT);
}

/** Reads an entry with the key `command`: an MCP server that agentd starts. Undefined if it has a problem. */
function readStdioEntry(node: ConfigNode, context: EntryContext): McpEntry | undefined {
  node.onlyKeys(entryKeys('command'));
  const command = readCommand(node.child('command'));
  const name = readName(node);
  const list = node.child('tools');
  const tools = readToolEntries(list, 'mcp');
  const secrets = readEntrySecrets(node, context.secrets);
  const env = node.optional('env', (child) => readEnv(child, secrets)) ?? {};
  const carriers = [
    node.child('credentials'),
    ...Object.keys(tools).map((key) => list.child(key).child('credentials')),
  ];
  for (const credentials of carriers) {
    if (!credentials.isAbsent && credentials.value !== 'none')
      credentials.refuseValue(
        'applies only to a server with an address: a program gets no credentials',
        'none, or leave the key out',
      );
  }
  const timeout_seconds = node.optional('timeout_seconds', readTimeout);
  if (command === undefined || name === undefined) return undefined;
  return withoutAbsent<McpEntry>({
    kind: 'mcp',
    location: describe(node),
    server: { command, env },
    name,
    headers: {},
    credentials: 'none',
    secrets: listedSecrets(secrets),
    tools,
    timeout_seconds,
  });
}

function readCommand(node: ConfigNode): readonly [string, ...string[]] | undefined {
  const items = node.items(RIGHT_COMMAND);
  const words = items.map((item) => (item.value === '' ? '' : item.text(RIGHT_COMMAND)));
  const [program, ...rest] = words;
  if (Array.isArray(node.value) && (items.length === 0 || program === ''))
    return node.refuse('does not name a program', RIGHT_COMMAND);
  if (program === undefined || rest.some((word) => word === undefined)) return undefined;
  return [program, ...(rest as string[])];
}

function readEnv(node: ConfigNode, secrets: EntrySecrets): Record<string, string> {
  const filled = node.members(RIGHT_ENV).flatMap(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) value.refuse('is not the name of a variable', RIGHT_ENV);
    const text = value.value === '' ? '' : fillSecrets(value, RIGHT_ENV, secrets);
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(filled);
}
