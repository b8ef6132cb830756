import { setTimeout as delay } from 'node:timers/promises';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import type { ToolDigestStore } from '../../src/daemon/store/tool-digests.ts';
import { type AlarmClock, systemClock } from '../../src/daemon/time/clock.ts';
import { describeSource } from '../../src/daemon/tools/describe-source.ts';
import { createTokenExchange } from '../../src/daemon/tools/downstream/token-exchange.ts';
import { McpSource } from '../../src/daemon/tools/mcp/mcp-source.ts';
import type { McpEntry, ToolEntry } from '../../src/daemon/tools/source-entry.ts';
import type { CredentialsUsed, Sent, Tool, ToolClient } from '../../src/daemon/tools/tool.ts';
import { collectLog, type LogLine } from './log-lines.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface SourceWanted extends Partial<McpEntry> {
  tools?: Record<string, ToolEntry>;
  clock?: AlarmClock;
  digests?: ToolDigestStore;
  /** The value of `API_BASE_URL`. */
  api?: string;
}

export interface SourceUnderTest {
  source: McpSource;
  digests: ToolDigestStore;
  lines: LogLine[];
  /** The tool with this name, if it is offered. */
  tool(name: string): Tool;
  /** Resolves when the condition is true. */
  until(holds: () => boolean): Promise<void>;
  /** Resolves when the condition is true; until then, the virtual clock advances in steps of a second. */
  inTime(clock: VirtualClock, holds: () => boolean): Promise<void>;
}

/** A source of one MCP server, not started. */
export function mcpSource(
  server: McpEntry['server'],
  { clock = systemClock, digests, api, ...wanted }: SourceWanted = {},
): SourceUnderTest {
  const entry: McpEntry = {
    kind: 'mcp',
    location: 'tools[0] (agentd.yaml, line 1)',
    name: 'docs',
    server,
    headers: {},
    tools: { search: { effect: 'read' } },
    ...wanted,
  };
  const { log, lines } = collectLog();
  const store = digests ?? openMemoryStore(new MemoryState(), { clock }).toolDigests;
  const source = new McpSource(entry, describeSource(entry, api), {
    clock,
    log,
    digests: store,
    exchange: createTokenExchange({ clock, timeoutMs: 2_000 }),
  });
  return {
    source,
    digests: store,
    lines,
    tool(name) {
      const found = source.list().find((tool) => tool.name === name);
      if (!found) throw new Error(`${name} is not offered: ${JSON.stringify(source.state())}`);
      return found;
    },
    async until(holds) {
      while (!holds()) await delay(5);
    },
    async inTime(virtual, holds) {
      for (; !holds(); await delay(5)) virtual.moveTo(virtual.now() + 1_000);
    },
  };
}

/** A client that adds the token, if there is one, as the client of the daemon does. */
export function clientWith(
  token: string | null,
  credentials: CredentialsUsed = token ? 'user' : 'none',
): ToolClient {
  return {
    credentials,
    identity: token === null ? 'none' : `${credentials}:${token}`,
    request: () => Promise.reject(new Error('an MCP source makes no such request')),
    fetch(input, init) {
      const headers = new Headers(init?.headers);
      if (token !== null) headers.set('authorization', `Bearer ${token}`);
      return fetch(input, { ...init, headers });
    },
  };
}

/** Sends a call with this client. By default, the client has no token. */
export function send(
  tool: Tool,
  args: Record<string, unknown>,
  { client = clientWith(null), signal = new AbortController().signal, progressed = () => {} } = {},
): Promise<Sent> {
  const { log } = collectLog();
  return tool.send(args, {
    client,
    person: null,
    context: null,
    idempotency_key: null,
    signal,
    progressed,
    log,
  });
}
