import type { JSONRPCMessage, MCPTransport, MCPTransportSendOptions } from '@ai-sdk/mcp';
import type { AlarmClock } from '../../time/clock.ts';
import type { Need } from '../tool.ts';
import { METHOD_UNKNOWN } from './failure.ts';
import { INPUT_REQUIRED, MAX_NEEDS, needsIn, readNeed } from './read-result.ts';
import { readableListing } from './readable-listing.ts';
import {
  type Answer,
  isAnswer,
  isRequest,
  isStateless,
  type McpTransport,
  type Notification,
  type Request,
} from './transport.ts';

/** How long a program may take until it answers the question for versions, its start included, ms. */
const SILENCE_MS = 5_000;

/** A call of a tool while it is in progress. */
interface WatchedCall {
  /** Called when the server reports progress of the call. */
  progressed(): void;
  /** What the server needs from the person, as far as it has said so. */
  readonly needs: Need[];
}

/**
 * A transport as the library's client sees it. The client knows neither progress nor what a server needs from the
 * person, so the messages of calls are watched here on their way.
 */
export class WatchedTransport implements MCPTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Called when the server says that its tools have changed. */
  toolsChanged: () => void = () => {};
  readonly supportsProtocolVersionDiscovery = true;
  /** The client's own limit is too short for programs that start slowly. */
  readonly waitsForProtocolVersionDiscovery = true;
  readonly supportsMcpToolParameterHeaders: boolean;
  readonly #inner: McpTransport;
  readonly #clock: AlarmClock;
  /** The calls by their arguments: the client passes on the same object. */
  readonly #calls = new WeakMap<object, WatchedCall>();
  /** The calls that the server has not answered, by the id of their request. */
  readonly #open = new Map<string | number, WatchedCall>();
  /** The ids of the requests for a page of the list of tools that the server has not answered. */
  readonly #listings = new Set<string | number>();
  /** The question for versions. It is over when the client no longer waits for the answer. */
  #question: { id: string | number; isOver: boolean; forget: () => void } | null = null;
  #handshake = false;

  constructor(inner: McpTransport, clock: AlarmClock) {
    this.#inner = inner;
    this.#clock = clock;
    this.supportsMcpToolParameterHeaders = inner.supportsMcpToolParameterHeaders ?? false;
    inner.onclose = () => {
      this.#question?.forget();
      this.onclose?.();
    };
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message) => this.#receive(message);
    inner.onnotification = (notification) => this.#noteNotification(notification);
  }

  /** Whether the handshake of an older version has begun. */
  get handshake(): boolean {
    return this.#handshake;
  }

  setProtocolVersion(version: string): void {
    this.#inner.protocolVersion = version;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  send(message: JSONRPCMessage, options?: MCPTransportSendOptions): Promise<void> {
    if (!isRequest(message)) return this.#inner.send(message, options);
    if (message.method === 'server/discover') this.#ask(message);
    if (message.method !== 'initialize') return this.#inner.send(this.#noteRequest(message), options);
    this.#handshake = true;
    return this.#inner.send(
      { ...message, params: { ...message.params, capabilities: CAPABILITIES } },
      options,
    );
  }

  /** Watches the call with these arguments, which the client sends next. */
  watch(args: object, call: WatchedCall): void {
    this.#calls.set(args, call);
  }

  /** Call this when a call has ended. */
  forget(call: WatchedCall): void {
    for (const [id, open] of this.#open) if (open === call) this.#open.delete(id);
  }

  /** A program of an older version may never answer the question for versions. Then the client is told that it failed. */
  #ask({ id }: Request): void {
    if (!this.#inner.mayStaySilent) return;
    const forget = this.#clock.after(SILENCE_MS, () => {
      this.#question = { id, isOver: true, forget };
      const error = { code: METHOD_UNKNOWN, message: 'The server did not answer.' };
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    });
    this.#question = { id, isOver: false, forget };
  }

  /** The request with a token for progress, if it is a call that is watched. */
  #noteRequest(request: Request): Request {
    const { id, method, params } = request;
    if (method === 'tools/list') this.#listings.add(id);
    const args =
      method === 'tools/call' ? (params as { arguments?: object } | undefined)?.arguments : undefined;
    const call = args && this.#calls.get(args);
    if (!call) return request;
    this.#open.set(id, call);
    return { ...request, params: { ...params, _meta: { ...params?._meta, progressToken: id } } };
  }

  #noteNotification({ method, params }: Notification): void {
    if (method === 'notifications/tools/list_changed') this.toolsChanged();
    if (method !== 'notifications/progress') return;
    const { progressToken } = (params ?? {}) as { progressToken?: string | number };
    if (progressToken !== undefined) this.#open.get(progressToken)?.progressed();
  }

  #receive(message: JSONRPCMessage): void {
    if (isAnswer(message)) {
      const { id, isOver = false, forget } = this.#question ?? {};
      if (message.id === id) forget?.();
      // The client treats an answer that it does not wait for as a failure.
      if (message.id !== id || !isOver) this.onmessage?.(this.#noteAnswer(message));
    } else if (isRequest(message) && !this.#answerRequest(message)) this.onmessage?.(message);
  }

  /** The answer; an error if it says that the server needs something first. */
  #noteAnswer(answer: Answer): Answer {
    const { id } = answer;
    const call = id === undefined ? undefined : this.#open.get(id);
    if (id !== undefined) this.#open.delete(id);
    const isListing = id !== undefined && this.#listings.delete(id);
    if (!('result' in answer)) return answer;
    if (isListing) return { ...answer, result: readableListing(answer.result) };
    if (answer.result.resultType !== 'input_required') return answer;
    if (call) noteNeeds(call, needsIn(answer.result.inputRequests));
    const error = { code: INPUT_REQUIRED, message: 'The server needs more before it can answer.' };
    return { jsonrpc: '2.0', id: answer.id, error };
  }

  /** @returns whether the request of the server needs no answer of the client. */
  #answerRequest({ id, method, params }: Request): boolean {
    // From this version on, servers send no requests, and clients no answers.
    if (isStateless(this.#inner.protocolVersion)) return true;
    if (method !== 'elicitation/create') return false;
    // The request does not say to which call it belongs.
    const [call, ...others] = this.#open.values();
    if (call && others.length === 0) noteNeeds(call, [readNeed(method, params)]);
    const sent = this.#inner.send({ jsonrpc: '2.0', id, result: { action: 'cancel' } });
    sent.catch((error: unknown) => this.onerror?.(error instanceof Error ? error : new Error(String(error))));
    return true;
  }
}

/**
 * Declared to servers of the older versions. These ask for the input of a form in the middle of a call, and do without
 * it if the client cannot show forms.
 */
const CAPABILITIES = { elicitation: { url: {} } };

function noteNeeds({ needs }: WatchedCall, found: readonly Need[]): void {
  needs.push(...found.slice(0, MAX_NEEDS - needs.length));
}
