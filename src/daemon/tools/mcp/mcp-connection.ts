import {
  type CallToolResult,
  createMCPClient,
  type ListToolsResult,
  type MCPClient,
  MCPClientError,
} from '@ai-sdk/mcp';
import type { AlarmClock } from '../../clock.ts';
import { printable } from '../../printable.ts';
import { TimeLimit } from '../../time-limit.ts';
import { version } from '../../version.ts';
import { McpFailure, McpSessionGone, McpStatus } from './mcp-failure.ts';
import type { McpTransport } from './mcp-transport.ts';

/** How long a server may take for the handshake, and for each page of its list of tools, ms. */
const ANSWER_MS = 10_000;
const MAX_PAGES = 20;
const MAX_TOOLS = 1_000;
/** Maximum length of a server's text in the refusal of a request, in characters. */
const MAX_WORDS = 300;
const TOOLS_CHANGED = 'notifications/tools/list_changed';

/** A tool as a server lists it. */
export type ListedTool = ListToolsResult['tools'][number];

/** An open connection to an MCP server, which is one session of the server. */
export interface McpConnection {
  /** Lists the tools of all pages. Rejects if the server lists too many tools. */
  listTools(signal: AbortSignal): Promise<ListedTool[]>;
  /**
   * Rejects with `MCPClientError` if the server refuses the call, and with the error of the transport if there is no
   * answer.
   */
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<CallToolResult>;
  /** Aborts when the connection has ended. Its reason is the failure that ended the connection. */
  readonly ended: AbortSignal;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  clock: AlarmClock;
  /** Aborts the handshake. */
  signal: AbortSignal;
  /** Called when the server reports that its tools have changed. */
  toolsChanged?: () => void;
}

/** Connects to a server and performs the handshake. If the handshake fails, the transport is closed. */
export async function openConnection(
  transport: McpTransport,
  { clock, signal, toolsChanged }: ConnectionOptions,
): Promise<McpConnection> {
  transport.onnotification = (method) => {
    if (method === TOOLS_CHANGED) toolsChanged?.();
  };
  const within = async <T>(outer: AbortSignal, work: (inner: AbortSignal) => Promise<T>): Promise<T> => {
    const limit = new TimeLimit(clock, ANSWER_MS, [outer]);
    try {
      return await limit.within(work(limit.signal));
    } catch (error) {
      outer.throwIfAborted();
      if (limit.passed)
        throw new McpFailure('mcp_timeout', 'The server did not answer in time.', { cause: error });
      const cause = causeOf(transport, error);
      if (!MCPClientError.isInstance(cause)) throw cause;
      const words = printable(cause.message).slice(0, MAX_WORDS).toWellFormed();
      throw new McpFailure('mcp_refused', `The server refused the request: ${words}`);
    } finally {
      limit.lift();
    }
  };

  let client: MCPClient;
  try {
    client = await within(signal, (inner) =>
      createMCPClient({
        transport,
        clientName: 'agentd',
        version: version(),
        // The client would otherwise send a request before `initialize`, to find out whether the server supports the
        // next protocol version. Today's servers refuse such a request.
        protocolVersionDiscovery: false,
        initializationOptions: { signal: inner },
      }),
    );
  } catch (error) {
    await transport.close();
    throw error;
  }
  transport.ready();

  return {
    ended: transport.ended,
    async listTools(outer) {
      const tools: ListedTool[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const listed = await within(outer, (inner) =>
          client.listTools({ params, options: { signal: inner } }),
        );
        tools.push(...listed.tools);
        if (tools.length > MAX_TOOLS) break;
        cursor = listed.nextCursor;
        if (cursor === undefined) return tools;
      }
      throw new McpFailure('mcp_too_large', 'The server lists more tools than can be used.');
    },
    async callTool(name, args, outer) {
      try {
        return await client.callTool({ name, arguments: { ...args }, options: { signal: outer } });
      } catch (error) {
        outer.throwIfAborted();
        throw causeOf(transport, error);
      }
    },
    close: () => client.close(),
  };
}

/**
 * The cause of a failed request. The library's client says neither why the connection ended nor what was wrong with an
 * answer.
 */
function causeOf({ ended }: McpTransport, error: unknown): unknown {
  if (error instanceof McpFailure || error instanceof McpStatus || error instanceof McpSessionGone)
    return error;
  if (ended.aborted) return ended.reason;
  // The cause of this error quotes the whole answer, which may be very long, so it is not passed on.
  if (MCPClientError.isInstance(error) && error.code === undefined)
    return new McpFailure('not_mcp', 'The server answered with something that is not MCP.');
  return error;
}
