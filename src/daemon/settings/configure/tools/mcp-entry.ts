import type { ListCredentials, McpEntry } from '../../../tools/source-entry.ts';
import type { ConfigNode } from '../config-node.ts';
import { type EntrySecrets, fillSecrets } from './fill-secrets.ts';
import type { EntryContext } from './read-source-entries.ts';
import {
  isSafe,
  RIGHT_EXCHANGE,
  readEntrySecrets,
  readName,
  readSourcePolicy,
  readUrl,
  type SourcePolicy,
} from './source-policy.ts';
import { readToolEntries } from './tool-entries.ts';

const MCP_KEYS = [
  'mcp',
  'name',
  'credentials',
  'credential',
  'list_credentials',
  'exchange',
  'headers',
  'secrets',
  'timeout_seconds',
  'tools',
];
const STDIO_KEYS = ['command', 'env', 'name', 'credentials', 'secrets', 'timeout_seconds', 'tools'];
const LIST_CREDENTIALS = ['headers', 'exchange'] as const satisfies readonly ListCredentials[];
/** The longest time that a run of the agent can take, seconds. */
const MAX_TIMEOUT = 600;

const RIGHT_COMMAND = 'the program and its arguments, such as [node, server.js]';
const RIGHT_LIST_HEADERS = `headers such as { Authorization: "Bearer \${DOCS_KEY}" }`;
const RIGHT_ENV = `names and values, such as { LOG: debug }; a secret as \${SETTING}`;

/**
 * Reads an entry with the key `mcp`: a server that is reached through streamable HTTP. Undefined if it has a problem.
 */
export function readMcpEntry(node: ConfigNode, context: EntryContext): McpEntry | undefined {
  node.onlyKeys(MCP_KEYS);
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
  const timeout_seconds = readTimeout(node);
  if (url === undefined || name === undefined) return undefined;
  return {
    kind: 'mcp',
    place: `${node.setting} (${node.source})`,
    server: { url },
    name,
    tools,
    ...policy,
    ...(list_credentials === undefined ? {} : { list_credentials }),
    ...(timeout_seconds === undefined ? {} : { timeout_seconds }),
  };
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
  if (chosen === 'exchange' && url !== undefined && !isSafe(url))
    return child.refuseValue(
      'sends a token to an address that is not https, where it can be read on the way',
      'an https or loopback address for this source',
    );
  return chosen;
}

function readTimeout(node: ConfigNode): number | undefined {
  const child = node.child('timeout_seconds');
  return child.isAbsent ? undefined : child.integer(1, MAX_TIMEOUT);
}

/** Reads an entry with the key `command`: an MCP server that agentd starts. Undefined if it has a problem. */
export function readStdioEntry(node: ConfigNode, context: EntryContext): McpEntry | undefined {
  node.onlyKeys(STDIO_KEYS);
  const command = readCommand(node.child('command'));
  const name = readName(node);
  const list = node.child('tools');
  const tools = readToolEntries(list, 'mcp');
  const secrets = readEntrySecrets(node, context.secrets);
  const env = readEnv(node.child('env'), secrets);
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
  const timeout_seconds = readTimeout(node);
  if (command === undefined || name === undefined) return undefined;
  const place = `${node.setting} (${node.source})`;
  return {
    kind: 'mcp',
    place,
    server: { command, env },
    name,
    headers: {},
    credentials: 'none',
    tools,
    ...(timeout_seconds === undefined ? {} : { timeout_seconds }),
  };
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
  if (node.isAbsent) return {};
  const filled = node.members(RIGHT_ENV).flatMap(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) value.refuse('is not the name of a variable', RIGHT_ENV);
    const text = value.value === '' ? '' : fillSecrets(value, RIGHT_ENV, secrets);
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(filled);
}
