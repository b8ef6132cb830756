import { type JSONRPCMessage, type MCPTransport, validateJSONRPCMessage } from '@ai-sdk/mcp';
import { isObject } from '../../../channel/json-object.ts';
import { asFields, type Fields } from '../../../channel/payload.ts';
import { mayBeInexact, nestsDeeper, parseExactly } from '../../syntax/json.ts';
import type { Clock } from '../../time/clock.ts';
import { McpFailure, tooMuchData } from './failure.ts';

/** A transport to an MCP server, as `McpConnection` and the library's client use it. */
export interface McpTransport extends MCPTransport {
  /** Whether a server may leave a request without any answer, not even an error. */
  readonly mayStaySilent: boolean;
  /** Called with each notification of the server. The library's client does not pass notifications on. */
  onnotification?: (notification: Notification) => void;
  /** Aborts when the connection has ended. Its reason is the failure that ended the connection. */
  readonly ended: AbortSignal;
  /**
   * Called when the version of the protocol is known.
   * @param listen the request whose answer is the stream of notifications; null for versions in which the server sends
   * notifications without such a request.
   */
  ready(listen: JSONRPCMessage | null): void;
  /** Ends the connection because of a failure. Nothing more is sent over it. */
  fail(failure: Error): void;
}

/** The first version of the protocol without a handshake and without sessions. */
const STATELESS_SINCE = '2026-07-28';

/** Whether requests of this version of the protocol stand alone. Versions are dates. */
export function isStateless(version: string | undefined): boolean {
  return version !== undefined && version >= STATELESS_SINCE;
}

export type Request = Extract<JSONRPCMessage, { method: string; id: string | number }>;
export type Answer = Exclude<JSONRPCMessage, { method: string }>;
export type Notification = Exclude<Extract<JSONRPCMessage, { method: string }>, Request>;

/** The id of a request; null for any other message. */
export function requestId(message: JSONRPCMessage): Request['id'] | null {
  return isRequest(message) ? message.id : null;
}

export function isRequest(message: JSONRPCMessage): message is Request {
  return 'method' in message && 'id' in message;
}

export function isAnswer(message: JSONRPCMessage): message is Answer {
  return !('method' in message);
}

export function isNotification(message: JSONRPCMessage): message is Notification {
  return 'method' in message && !('id' in message);
}

const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/** The headers that repeat parts of a request, from version 2026-07-28 on, so that proxies need not read its body. */
export function requestHeaders(message: JSONRPCMessage): Record<string, string> {
  if (!('method' in message)) return {};
  const { method, params } = message;
  const { name } = (params ?? {}) as { name?: unknown };
  const named = method === 'tools/call' && typeof name === 'string' ? { 'mcp-name': encodeHeader(name) } : {};
  return { 'mcp-method': method, ...named };
}

/** A text as the value of a header: in base64, with a mark, unless every header can contain it as it is. */
function encodeHeader(text: string): string {
  if (PLAIN.test(text) && !ENCODED.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** Maximum size of one message of a server, such as an answer or one page of its list of tools, bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;
/** Maximum nesting depth of a message. Recursive functions would run out of stack at greater depths. */
const MAX_DEPTH = 100;

/**
 * Parses a message of a server.
 * @throws McpFailure if the text is not a message, or is nested too deeply.
 */
export function parseMessage(text: string): JSONRPCMessage {
  if (nestsDeeper(text, MAX_DEPTH))
    throw new McpFailure('mcp_too_large', 'The server answered with data that is nested too deeply.');
  try {
    return validateJSONRPCMessage(withReadableResult(JSON.parse(text), text));
  } catch {
    // The original error quotes the whole message, which may be very long, so it is not passed on.
    throw new McpFailure('not_mcp', 'The server answered with something that is not MCP.');
  }
}

/**
 * The message. In the result of a tool, numbers that are too large for a JavaScript number are kept exact. Schemas are
 * not changed. Members of a result that are null are absent, as many servers write them.
 */
function withReadableResult(message: unknown, text: string): unknown {
  const result = readResult(message);
  if (result === null) return message;
  const isInexact = 'structuredContent' in result && mayBeInexact(text);
  const exact = isInexact ? readResult(parseExactly(text)) : null;
  return { ...asFields(message), result: withoutNulls(exact ?? result) };
}

function readResult(message: unknown): Fields | null {
  const { result } = asFields(message);
  return isObject(result) ? result : null;
}

/** The object without the members that are null. */
function withoutNulls(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

const WINDOW_MS = 60_000;
/**
 * Maximum number of messages per minute that answer no request: notifications, requests of the server, and answers that
 * no call waits for.
 */
export const MAX_UNASKED = 600;
const MAX_UNASKED_BYTES = 8_388_608;

/** Limits how many messages and bytes a server may send per minute without being asked. */
export class InboundMeter {
  readonly #clock: Clock;
  #since: number;
  #messages = 0;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /**
   * Counts a message that answers no request.
   * @throws McpFailure if there were too many of these messages.
   */
  message(): void {
    this.#begin();
    this.#messages++;
    this.#check();
  }

  /**
   * Counts bytes that belong to no answer.
   * @throws McpFailure if there were too many of these bytes.
   */
  bytes(count: number): void {
    this.#begin();
    this.#bytes += count;
    this.#check();
  }

  #begin(): void {
    const now = this.#clock.now();
    if (Math.abs(now - this.#since) < WINDOW_MS) return;
    this.#since = now;
    this.#messages = 0;
    this.#bytes = 0;
  }

  #check(): void {
    if (this.#messages > MAX_UNASKED || this.#bytes > MAX_UNASKED_BYTES)
      throw new McpFailure('mcp_flood', 'The server sent too many unsolicited messages.');
  }
}

/**
 * Splits bytes that arrive in pieces into lines of UTF-8. A line is refused as soon as it is longer than the largest
 * allowed message, so that no more of it is kept.
 */
export class LineSplitter {
  #pieces: Uint8Array[] = [];
  #size = 0;

  /**
   * @returns the lines that are now complete, without their line ends (LF or CRLF).
   * @throws McpFailure if a line is too long.
   */
  *push(piece: Uint8Array): Generator<string> {
    let begin = 0;
    for (let end = piece.indexOf(LF); end >= 0; end = piece.indexOf(LF, begin)) {
      this.#keep(piece.subarray(begin, end));
      begin = end + 1;
      yield this.#take();
    }
    this.#keep(piece.subarray(begin));
  }

  #keep(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    if (this.#size > MAX_MESSAGE_BYTES) throw tooMuchData();
    if (piece.byteLength > 0) this.#pieces.push(piece);
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#size = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

const LF = 0x0a;
