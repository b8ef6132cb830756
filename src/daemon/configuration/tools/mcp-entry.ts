import type { McpEntry } from '../../tools/source-entry.ts';
import type { ConfigNode } from '../config-node.ts';
import { type EntrySecrets, fillSecrets } from './fill-secrets.ts';
import type { EntryContext } from './read-source-entries.ts';
import { readEntrySecrets, readName, readSourcePolicy, readUrl } from './source-policy.ts';
import { readToolEntries } from './tool-entries.ts';

const MCP_KEYS = ['mcp', 'name', 'credentials', 'credential', 'exchange', 'headers', 'secrets', 'tools'];
const STDIO_KEYS = ['command', 'env', 'name', 'credentials', 'secrets', 'tools'];

const RIGHT_COMMAND = 'the program and its arguments, such as [node, server.js]';
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
  if (url === undefined || name === undefined) return undefined;
  return {
    kind: 'mcp',
    place: `${node.setting} (${node.source})`,
    server: { url },
    name,
    tools,
    ...policy,
  };
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
  if (command === undefined || name === undefined) return undefined;
  const place = `${node.setting} (${node.source})`;
  return { kind: 'mcp', place, server: { command, env }, name, headers: {}, credentials: 'none', tools };
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
