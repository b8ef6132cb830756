import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { LocalServer } from './local-server.ts';

/** A request that arrived, with the members that tests check. */
export interface McpRequest {
  http: string;
  /** The JSON-RPC method; null if there is none. */
  rpc: string | null;
  authorization: string | null;
  session: string | null;
  headers: IncomingMessage['headers'];
  /** The arguments of a `tools/call`. */
  args: Record<string, unknown> | null;
}

export interface McpCall {
  name: string;
  args: Record<string, unknown>;
  authorization: string | null;
  session: string | null;
}

/** May answer a request instead of the server. @returns false if the server should answer it */
export type Intercept = (
  request: McpRequest,
  http: { request: IncomingMessage; response: ServerResponse; body: string },
) => boolean | Promise<boolean>;

export const SEARCH: Tool = {
  name: 'search',
  title: 'Search the documents',
  description: 'Finds documents by words.',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string', description: 'words to look for' } },
    required: ['query'],
  },
};

/** An MCP server over streamable HTTP, made with the official SDK; it records each request. */
export class McpServer extends LocalServer {
  tools: Tool[] = [SEARCH];
  call: (call: McpCall) => Promise<CallToolResult> | CallToolResult = ({ args }) => ({
    content: [{ type: 'text', text: `found: ${JSON.stringify(args)}` }],
  });
  intercept: Intercept = () => false;
  readonly requests: McpRequest[] = [];
  readonly #sessions = new Map<string, { server: Server; transport: StreamableHTTPServerTransport }>();

  static open(port = 0): Promise<McpServer> {
    return new McpServer().listen(port);
  }

  override get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Ids of the open sessions. */
  get sessions(): string[] {
    return [...this.#sessions.keys()];
  }

  /** The requests with this JSON-RPC method. */
  of(rpc: string): McpRequest[] {
    return this.requests.filter((request) => request.rpc === rpc);
  }

  /** Notifies every session that the tools have changed. */
  async tellOfTools(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.sendToolListChanged()));
  }

  /** Forgets all sessions, as a restart does. */
  async forget(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ transport }) => transport.close()));
  }

  override async close(): Promise<void> {
    await this.forget();
    await super.close();
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> {
    const body = sent.toString();
    const message = parse(body);
    const session = headerOf(request, 'mcp-session-id');
    const seen: McpRequest = {
      http: request.method ?? '',
      rpc: message?.method ?? null,
      authorization: headerOf(request, 'authorization'),
      session,
      headers: request.headers,
      args: message?.params?.arguments ?? null,
    };
    this.requests.push(seen);
    if (await this.intercept(seen, { request, response, body })) return;
    const transport = session === null ? await this.#begin(seen) : this.#sessions.get(session)?.transport;
    if (transport) await transport.handleRequest(request, response, message ?? undefined);
    else response.writeHead(404).end();
  }

  async #begin(first: McpRequest): Promise<StreamableHTTPServerTransport> {
    const server = new Server(
      { name: 'test', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: this.tools }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestInfo, sessionId }) => {
      const authorization = requestInfo?.headers.authorization ?? null;
      return this.call({
        name: params.name,
        args: params.arguments ?? {},
        authorization: typeof authorization === 'string' ? authorization : null,
        session: sessionId ?? null,
      });
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { server, transport });
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    if (first.rpc !== 'initialize') return transport;
    await server.connect(transport as Parameters<Server['connect']>[0]);
    return transport;
  }
}

interface Message {
  method?: string;
  id?: number;
  params?: { arguments?: Record<string, unknown> };
}

function parse(body: string): Message | null {
  return body === '' ? null : (JSON.parse(body) as Message);
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}
