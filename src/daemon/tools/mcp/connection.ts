import {
  type CallToolResult,
  createMCPClient,
  type JSONRPCMessage,
  type ListToolsResult,
  type MCPClient,
  MCPClientError,
} from '@ai-sdk/mcp';
import { version } from '../../files/version.ts';
import { printable } from '../../texts/printable.ts';
import type { AlarmClock } from '../../time/clock.ts';
import { TimeLimit } from '../../time/time-limit.ts';
import type { Need } from '../tool.ts';
import { McpFailure, McpStatus } from './failure.ts';
import { MAX_SAID, needsOfError } from './read-result.ts';
import { isStateless, type McpTransport } from './transport.ts';
import { WatchedTransport } from './watched-transport.ts';

/** How long a server may take for the beginning of a connection, and for each page of its list of tools, ms. */
const ANSWER_MS = 10_000;
const MAX_PAGES = 20;
const MAX_TOOLS = 1_000;

export type McpTool = ListToolsResult['tools'][number];

/** The outcome of a call. */
export interface CalledTool {
  /** Null if the server did not carry out the call, because it needs something first. */
  readonly result: CallToolResult | null;
  /** What the server needs from the person. */
  readonly needs: readonly Need[];
}

interface CallOptions {
  signal: AbortSignal;
  /** Called when the server reports progress. */
  progressed(): void;
  /** Whether the schema of the tool asks for arguments as headers, too. */
  asHeaders: boolean;
}

/** An open connection to an MCP server. Before version 2026-07-28, it is one session of the server. */
export interface McpConnection {
  /** Whether the server speaks a version without a handshake and without sessions. */
  readonly stateless: boolean;
  /** Lists the tools of all pages. Rejects if the server lists too many tools. */
  listTools(signal: AbortSignal): Promise<McpTool[]>;
  /**
   * Rejects with `MCPClientError` if the server refuses the call, and with the error of the transport if there is no
   * answer.
   */
  callTool(name: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<CalledTool>;
  /** Aborts when the connection has ended. Its reason is the failure that ended the connection. */
  readonly ended: AbortSignal;
  close(): Promise<void>;
}

interface ConnectionOptions {
  clock: AlarmClock;
  /** Aborts the beginning of the connection. */
  signal: AbortSignal;
  /** Called when the server reports that its tools have changed. */
  toolsChanged?: () => void;
  /** Whether the server is asked for its versions first. Otherwise it gets the handshake of the older versions. */
  asks: boolean;
}

/** The server did not answer the question for its versions as any server should, so it may know only older versions. */
class VersionsUnknown extends Error {
  constructor(cause: unknown) {
    super('The server did not answer the question for its versions.', { cause });
    this.name = 'VersionsUnknown';
  }
}

/**
 * Connects to a server. If that fails, the transport is closed.
 * @throws VersionsUnknown
 */
async function openConnection(
  transport: McpTransport,
  { clock, signal, toolsChanged, asks }: ConnectionOptions,
): Promise<McpConnection> {
  const watched = new WatchedTransport(transport, clock);
  watched.toolsChanged = () => toolsChanged?.();
  const within = async <T>(outer: AbortSignal, work: (inner: AbortSignal) => Promise<T>): Promise<T> => {
    const limit = new TimeLimit(clock, ANSWER_MS, [outer]);
    try {
      return await limit.within(work(limit.signal));
    } catch (error) {
      outer.throwIfAborted();
      if (limit.passed)
        throw new McpFailure('mcp_timeout', 'The server did not answer in time.', { cause: error });
      const cause = findCause(transport, error);
      if (!MCPClientError.isInstance(cause)) throw cause;
      const said = printable(cause.message.slice(0, MAX_SAID)).toWellFormed();
      throw new McpFailure('mcp_refused', 'The server refused the request.', { said });
    } finally {
      limit.lift();
    }
  };

  let client: MCPClient;
  try {
    client = await within(signal, (inner) =>
      createMCPClient({
        transport: watched,
        ...CLIENT_INFO,
        capabilities: CAPABILITIES,
        protocolVersionDiscovery: asks,
        initializationOptions: { signal: inner },
      }),
    );
  } catch (error) {
    await transport.close();
    if (asks && !watched.handshake && mayBeOlder(error)) throw new VersionsUnknown(error);
    throw error;
  }
  const stateless = isStateless(transport.protocolVersion);
  transport.ready(stateless ? listenRequest(transport.protocolVersion) : null);
  let hasListed = false;

  async function listTools(outer: AbortSignal): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const listed = await within(outer, (inner) => client.listTools({ params, options: { signal: inner } }));
      tools.push(...listed.tools);
      if (tools.length > MAX_TOOLS) break;
      cursor = listed.nextCursor;
      hasListed = true;
      if (cursor === undefined) return tools;
    }
    throw new McpFailure('mcp_too_large', 'The server lists more tools than can be used.');
  }

  return {
    stateless,
    ended: transport.ended,
    listTools,
    async callTool(name, given, { signal: outer, progressed, asHeaders }) {
      // The client learns from a listing which arguments it must send as headers.
      if (stateless && asHeaders && !hasListed) await listTools(outer);
      const args = { ...given };
      const call = { progressed, needs: [] as Need[] };
      watched.watch(args, call);
      try {
        const result = await client.callTool({ name, arguments: args, options: { signal: outer } });
        return { result, needs: call.needs };
      } catch (error) {
        outer.throwIfAborted();
        const cause = findCause(transport, error);
        const needs = MCPClientError.isInstance(cause) ? needsOfError(cause.code, cause.data) : null;
        if (needs === null) throw cause;
        return { result: null, needs: call.needs.length > 0 ? call.needs : needs };
      } finally {
        watched.forget(call);
      }
    },
    close: () => client.close(),
  };
}

/** Declared to servers of version 2026-07-28: only then do they say what they need. */
const CAPABILITIES = { elicitation: { form: {}, url: {} } };
const CLIENT_INFO = { clientName: 'agentd', version: version() };

/** Whether a server that knows only older versions may be the reason of a failure. */
function mayBeOlder(error: unknown): boolean {
  return (
    error instanceof McpFailure &&
    error.reached &&
    ['mcp_timeout', 'mcp_unreachable', 'mcp_refused', 'not_mcp'].includes(error.reason)
  );
}

/** Asks for a notification whenever the tools have changed. The library's client cannot do so. */
function listenRequest(protocolVersion: string | undefined): JSONRPCMessage {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientInfo': { name: CLIENT_INFO.clientName, version: CLIENT_INFO.version },
    'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  };
  const params = { _meta, notifications: { toolsListChanged: true } };
  return { jsonrpc: '2.0', id: 'notifications', method: 'subscriptions/listen', params };
}

/**
 * The cause of a failed request. The library's client says neither why the connection ended nor what was wrong with an
 * answer.
 */
function findCause({ ended }: McpTransport, error: unknown): unknown {
  if (error instanceof McpFailure) return error;
  // An error of the protocol itself, after which the library's client closes the transport.
  if (MCPClientError.isInstance(error) && error.code !== undefined) return error;
  if (ended.aborted) return ended.reason;
  // The cause of this error quotes the whole answer, which may be very long, so it is not passed on.
  if (MCPClientError.isInstance(error))
    return new McpFailure('not_mcp', 'The server answered with something that is not MCP.');
  return error;
}

/**
 * Opens the connections to one server, and remembers whether it knows the versions of the protocol without sessions. A
 * server that does is asked for its versions; any other gets the handshake of the older versions.
 */
export class Connector {
  /** Whether the server knows only versions with sessions, as far as is known. */
  #isOlder = false;

  /** @param transport makes a transport; it is called again if the server ends the first connection. */
  async open<T extends McpTransport>(
    transport: () => T,
    options: Omit<ConnectionOptions, 'asks'>,
  ): Promise<{ connection: McpConnection; transport: T }> {
    const first = transport();
    const asks = !this.#isOlder;
    try {
      return this.#opened(first, await openConnection(first, { ...options, asks }));
    } catch (error) {
      if (!(error instanceof VersionsUnknown)) {
        // Perhaps another program answers at this address now. It is asked again next time.
        if (!saysNothing(error)) this.#isOlder = false;
        throw error;
      }
    }
    const second = transport();
    return this.#opened(second, await openConnection(second, { ...options, asks: false }));
  }

  #opened<T extends McpTransport>(transport: T, connection: McpConnection) {
    this.#isOlder = !connection.stateless;
    return { connection, transport };
  }
}

/** Whether a failure says nothing about the server: it was not reached, or it refused the credential. */
function saysNothing(error: unknown): boolean {
  if (error instanceof McpStatus) return error.status === 401 || error.status === 403;
  return error instanceof McpFailure && !error.reached;
}
