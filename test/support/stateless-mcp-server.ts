import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  type McpHttpHandler,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { LocalServer } from './local-server.ts';
import { SEARCH } from './mcp-server.ts';

/** A request that arrived, with the members that tests check. */
export interface StatelessRequest {
  http: string;
  /** The JSON-RPC method; null if there is none. */
  rpc: string | null;
  headers: IncomingMessage['headers'];
  /** `_meta` of the request. */
  meta: Record<string, unknown>;
}

/** An MCP server of version 2026-07-28 over HTTP, made with the official SDK. By default it knows no older version. */
export class StatelessMcpServer extends LocalServer {
  tools: Tool[] = [SEARCH as Tool];
  call: (
    args: Record<string, unknown>,
    headers: Headers,
  ) => CallToolResult | InputRequiredResult | Promise<CallToolResult> = (args) => ({
    content: [{ type: 'text', text: `found: ${JSON.stringify(args)}` }],
  });
  readonly requests: StatelessRequest[] = [];
  readonly #handler: McpHttpHandler;

  private constructor(legacy: 'reject' | 'stateless') {
    super();
    this.#handler = createMcpHandler(
      () => {
        const server = new Server(
          { name: 'test', version: '2' },
          { capabilities: { tools: { listChanged: true } } },
        );
        server.setRequestHandler('tools/list', () => ({ tools: this.tools }));
        server.setRequestHandler('tools/call', ({ params }, { http }) =>
          this.call(params.arguments ?? {}, http?.req?.headers ?? new Headers()),
        );
        return server;
      },
      { legacy },
    );
  }

  static open(legacy: 'reject' | 'stateless' = 'reject'): Promise<StatelessMcpServer> {
    return new StatelessMcpServer(legacy).listen();
  }

  override get url(): string {
    return `${this.origin}/mcp`;
  }

  /** The requests with this JSON-RPC method. */
  of(rpc: string): StatelessRequest[] {
    return this.requests.filter((request) => request.rpc === rpc);
  }

  tellOfTools(): void {
    this.#handler.notify.toolsChanged();
  }

  override async close(): Promise<void> {
    await this.#handler.close();
    await super.close();
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> {
    const body = sent.toString();
    const message = body === '' ? null : (JSON.parse(body) as Message);
    this.requests.push({
      http: request.method ?? '',
      rpc: message?.method ?? null,
      headers: request.headers,
      meta: message?.params?._meta ?? {},
    });
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const answer = await this.#handler.fetch(
      new Request(this.url, {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
          typeof value === 'string' ? [[name, value]] : [],
        ),
        ...(body === '' ? {} : { body }),
        signal: gone.signal,
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const piece of answer.body ?? []) response.write(piece);
    response.end();
  }
}

interface Message {
  method?: string;
  params?: { _meta?: Record<string, unknown> };
}
