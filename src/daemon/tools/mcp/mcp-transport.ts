import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp';

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
