import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  type McpHttpHandler,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { listenOnFreePort } from './free-ports.ts';
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
export class StatelessMcpServer {
  tools: Tool[] = [SEARCH as Tool];
  call: (
    args: Record<string, unknown>,
    headers: Headers,
  ) => CallToolResult | InputRequiredResult | Promise<CallToolResult> = (args) => ({
    content: [{ type: 'text', text: `found: ${JSON.stringify(args)}` }],
  });
  readonly requests: StatelessRequest[] = [];
  readonly #handler: McpHttpHandler;
  readonly #http = createServer((request, response) => void this.#handle(request, response));

  private constructor(legacy: 'reject' | 'stateless') {
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

  static async open(legacy: 'reject' | 'stateless' = 'reject'): Promise<StatelessMcpServer> {
    const server = new StatelessMcpServer(legacy);
    await listenOnFreePort(server.#http);
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mcp`;
  }

  /** The requests with this JSON-RPC method. */
  of(rpc: string): StatelessRequest[] {
    return this.requests.filter((request) => request.rpc === rpc);
  }

  tellOfTools(): void {
    this.#handler.notify.toolsChanged();
  }

  async close(): Promise<void> {
    await this.#handler.close();
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, 'close');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString('utf8');
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
