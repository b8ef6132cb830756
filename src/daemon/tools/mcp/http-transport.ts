import type { JSONRPCMessage, MCPTransportSendOptions } from '@ai-sdk/mcp';
import { type AlarmClock, wait } from '../../time/clock.ts';
import { wasNotConnected } from '../downstream/http-request.ts';
import { TokenFailure } from '../downstream/token-cache.ts';
import { McpFailure, McpStatus, protocolError } from './failure.ts';
import {
  type Cursor,
  limitBytes,
  meteredBy,
  readBeginning,
  readEvents,
  readMediaType,
  readText,
} from './response-body.ts';
import {
  InboundMeter,
  isAnswer,
  isNotification,
  isStateless,
  MAX_MESSAGE_BYTES,
  type McpTransport,
  type Notification,
  parseMessage,
  requestHeaders,
  requestId,
} from './transport.ts';

/** Maximum size of one answer, including the notifications before it, bytes. */
const MAX_ANSWER_BYTES = 4_194_304;
/** How long the request that ends a session may take, ms. */
const END_MS = 2_000;
/** How long to wait before the stream of notifications is opened again, ms. */
const REOPEN_MS = { first: 1_000, longest: 60_000 } as const;
/** How many times the rest of one answer is fetched, and how long to wait before at least, ms. */
const MAX_RESUMES = 100;
const SHORTEST_RETRY_MS = 100;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

interface HttpTransportOptions {
  url: string;
  /** Sends the requests and adds the headers of the connection. A call can replace it (`HttpTransport.fetch`). */
  fetch: typeof globalThis.fetch;
  clock: AlarmClock;
  /** Whether the transport listens for notifications between requests. */
  listens: boolean;
}

/**
 * MCP over streamable HTTP (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http,
 * and https://modelcontextprotocol.io/specification/2025-11-25/basic/transports for the versions with sessions). The
 * transport of the library is not used: it has no limits, and switches to any session that a server names in an answer.
 */
export class HttpTransport implements McpTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  onnotification?: (notification: Notification) => void;
  readonly mayStaySilent = false;
  readonly supportsMcpToolParameterHeaders = true;
  protocolVersion?: string;
  /** The `fetch` of the call that uses the connection now. */
  fetch: typeof globalThis.fetch;
  readonly #options: HttpTransportOptions;
  readonly #meter: InboundMeter;
  readonly #end = new AbortController();
  #session_id: string | null = null;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.fetch = options.fetch;
    this.#meter = new InboundMeter(options.clock);
  }

  get ended(): AbortSignal {
    return this.#end.signal;
  }

  async start(): Promise<void> {}

  ready(listen: JSONRPCMessage | null): void {
    if (this.#options.listens) void this.#listen(listen);
  }

  /** Sends one message, and delivers the messages with which the server responds. */
  async send(message: JSONRPCMessage, { signal, headers = {} }: MCPTransportSendOptions = {}): Promise<void> {
    const end = signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal;
    const id = requestId(message);
    try {
      const response = await this.#post(message, end, headers);
      const ok = response.status >= 200 && response.status < 300;
      if (!ok) {
        const failure = await this.#toFailure(response);
        const error = this.#isStateless ? protocolError(failure, message) : null;
        if (error === null || id === null) throw failure;
        this.onmessage?.({ jsonrpc: '2.0', id, error });
        return;
      }
      this.#checkSession(message, response);
      if (id === null || response.status === 202) {
        await response.body?.cancel();
        if (id !== null) throw new McpFailure('not_mcp', 'The server did not answer the request.');
        return;
      }
      const cursor: Cursor = { id: null, retry_ms: null };
      let isAnswered = await this.#deliver(response, id, cursor);
      for (let times = 0; !isAnswered && this.#mayResume(cursor, times); times++)
        isAnswered = await this.#resume(id, cursor, end);
      if (!isAnswered) throw new McpFailure('mcp_unreachable', 'The server ended its answer too early.');
    } catch (error) {
      end.throwIfAborted();
      throw asFailure(error);
    }
  }

  fail(failure: Error): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort(failure);
    this.onerror?.(failure);
    this.onclose?.();
  }

  async close(): Promise<void> {
    const wasOpen = !this.#end.signal.aborted;
    this.#end.abort(new McpFailure('mcp_ended', 'The connection was closed.'));
    const session_id = this.#session_id;
    this.#session_id = null;
    if (wasOpen && session_id !== null) await this.#endSession(session_id);
    this.onclose?.();
  }

  /** Before the version is known, it is that of the first request. */
  get #isStateless(): boolean {
    return isStateless(this.protocolVersion);
  }

  #post(
    message: JSONRPCMessage,
    signal: AbortSignal,
    ofArguments: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.#request('POST', signal, {
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(this.#isStateless ? { ...ofArguments, ...requestHeaders(message) } : {}),
      },
      body: JSON.stringify(message),
    });
  }

  async #request(
    method: 'POST' | 'GET' | 'DELETE',
    signal: AbortSignal,
    { headers, body }: { headers: Record<string, string>; body?: string },
  ): Promise<Response> {
    const all = new Headers(headers);
    if (this.protocolVersion !== undefined) all.set('mcp-protocol-version', this.protocolVersion);
    if (this.#session_id !== null) all.set('mcp-session-id', this.#session_id);
    const init: RequestInit = { method, headers: all, redirect: 'manual', signal };
    if (body !== undefined) init.body = body;
    return this.fetch(this.#options.url, init);
  }

  /** Stores the session id from the answer to `initialize`. A different id in a later answer ends the connection. */
  #checkSession(message: JSONRPCMessage, response: Response): void {
    const named = response.headers.get('mcp-session-id');
    if (named === null || named === this.#session_id || this.#isStateless) return;
    const begins = 'method' in message && message.method === 'initialize';
    if (begins && SESSION_ID.test(named)) {
      this.#session_id = named;
      return;
    }
    void response.body?.cancel();
    const failure = new McpFailure('mcp_session_changed', 'The server answered in a different session.');
    this.fail(failure);
    throw failure;
  }

  async #toFailure(response: Response): Promise<Error> {
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      return new McpFailure('mcp_redirect', 'The server answered with a redirect that is not followed.', {
        reached: false,
      });
    }
    if (response.status === 404 && this.#session_id !== null) {
      await response.body?.cancel();
      const gone = new McpFailure('mcp_session_gone', 'The server has ended the session.', {
        reached: false,
      });
      this.#session_id = null;
      this.fail(gone);
      return gone;
    }
    return new McpStatus(response.status, await readBeginning(response));
  }

  /**
   * Whether the rest of an answer can be fetched. A server of a version with sessions may end a stream before the answer
   * and let the client ask again, instead of keeping a connection open.
   */
  #mayResume({ id }: Cursor, times: number): boolean {
    return id !== null && this.#session_id !== null && !this.#isStateless && times < MAX_RESUMES;
  }

  async #resume(id: string | number, cursor: Cursor, signal: AbortSignal): Promise<boolean> {
    const { first, longest } = REOPEN_MS;
    const wait_ms = Math.min(Math.max(cursor.retry_ms ?? first, SHORTEST_RETRY_MS), longest);
    await wait(this.#options.clock, wait_ms, signal);
    const headers = { accept: 'text/event-stream', 'last-event-id': cursor.id ?? '' };
    const response = await this.#request('GET', signal, { headers });
    if (response.status !== 200) throw await this.#toFailure(response);
    return this.#deliver(response, id, cursor);
  }

  /** @returns whether the response contained the answer to the request. */
  async #deliver(response: Response, id: string | number, cursor: Cursor): Promise<boolean> {
    const type = readMediaType(response);
    const body = limitBytes(response, type === 'text/event-stream' ? MAX_ANSWER_BYTES : MAX_MESSAGE_BYTES);
    if (type === 'text/event-stream') {
      for await (const data of readEvents(body, cursor)) if (this.#receive(data, id)) return true;
      return false;
    }
    if (type === 'application/json') return this.#receive(await readText(body), id);
    await response.body?.cancel();
    throw new McpFailure('not_mcp', 'The server answered with something that is not MCP.');
  }

  /** @returns whether the message is the answer to the request. Answers to other requests are not delivered. */
  #receive(text: string, id: string | number | null): boolean {
    const message = parseMessage(text);
    if (isAnswer(message)) {
      if (message.id === id || (message.id === undefined && 'error' in message && id !== null)) {
        this.onmessage?.({ ...message, id } as JSONRPCMessage);
        return true;
      }
    }
    this.#countUnasked();
    if (isNotification(message)) this.onnotification?.(message);
    else if ('method' in message) this.onmessage?.(message);
    return false;
  }

  #countUnasked(): void {
    try {
      this.#meter.message();
    } catch (error) {
      this.fail(asFailure(error));
      throw error;
    }
  }

  /** Reads the stream of notifications, and opens it again when it ends. Some servers have no such stream. */
  async #listen(request: JSONRPCMessage | null): Promise<void> {
    const { signal } = this.#end;
    for (let wait_ms: number = REOPEN_MS.first; ; wait_ms = Math.min(2 * wait_ms, REOPEN_MS.longest)) {
      const opened_at = this.#options.clock.now();
      try {
        if (!(await this.#readNotifications(signal, request))) return;
      } catch (error) {
        if (!signal.aborted) this.fail(asFailure(error));
        return;
      }
      if (this.#options.clock.now() - opened_at > REOPEN_MS.longest) wait_ms = REOPEN_MS.first;
      try {
        await wait(this.#options.clock, wait_ms, signal);
      } catch {
        return;
      }
      // The server may have changed its tools while the stream was closed.
      this.onnotification?.({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    }
  }

  /** @returns false if the server offers no such stream. */
  async #readNotifications(signal: AbortSignal, request: JSONRPCMessage | null): Promise<boolean> {
    const response = await (request === null
      ? this.#request('GET', signal, { headers: { accept: 'text/event-stream' } })
      : this.#post(request, signal));
    if (response.status === 404 && this.#session_id !== null) throw await this.#toFailure(response);
    if (response.status !== 200 || readMediaType(response) !== 'text/event-stream') {
      await response.body?.cancel();
      return false;
    }
    const metered = meteredBy(this.#meter, response);
    try {
      for await (const data of readEvents(metered)) this.#receive(data, null);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof McpFailure) throw error;
      // If a stream is silent for a long time, a proxy may end it in any way, even with an error.
    }
    return true;
  }

  /** Asks the server to end the session. The server may refuse, because sessions also expire. */
  async #endSession(session_id: string): Promise<void> {
    const headers = { 'mcp-session-id': session_id };
    try {
      const response = await this.#request('DELETE', AbortSignal.timeout(END_MS), { headers });
      await response.body?.cancel();
    } catch (error) {
      this.onerror?.(asFailure(error));
    }
  }
}

function asFailure(error: unknown): Error {
  if (error instanceof McpFailure) return error;
  if (error instanceof TokenFailure)
    return new McpFailure(error.reason, error.message, { cause: error, reached: false });
  const reached = !wasNotConnected(error);
  return new McpFailure('mcp_unreachable', 'The server cannot be reached.', { cause: error, reached });
}
