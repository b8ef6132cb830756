import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp';

/** A transport to an MCP server, as `McpConnection` and the library's client use it. */
export interface McpTransport extends MCPTransport {
  /** Called with the method of each notification of the server. The library's client does not pass notifications on. */
  onnotification?: (method: string) => void;
  /** Aborts when the connection has ended. Its reason is the failure that ended the connection. */
  readonly ended: AbortSignal;
  /** Called when the handshake is over. */
  ready(): void;
  /** Ends the connection because of a failure. Nothing more is sent over it. */
  fail(failure: Error): void;
}

type Request = Extract<JSONRPCMessage, { method: string; id: string | number }>;
type Answer = Exclude<JSONRPCMessage, { method: string }>;

/** The id of a request; null for any other message. */
export function requestId(message: JSONRPCMessage): Request['id'] | null {
  return 'method' in message && 'id' in message ? message.id : null;
}

export function isAnswer(message: JSONRPCMessage): message is Answer {
  return !('method' in message);
}

export function isNotification(message: JSONRPCMessage): message is JSONRPCMessage & { method: string } {
  return 'method' in message && !('id' in message);
}
