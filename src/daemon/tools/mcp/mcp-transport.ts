import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp';

/** A transport to an MCP server for `McpConnection`. The client of the library uses it. */
export interface McpTransport extends MCPTransport {
  /** Gets the notifications of the server, which the client of the library does not know. */
  onnotification?: (method: string) => void;
  /** Aborts when the connection has ended, with the failure that ended it. */
  readonly ended: AbortSignal;
  /** Called once the handshake is over. */
  ready(): void;
  /** Ends the connection because of a failure. Nothing is sent over it afterwards. */
  fail(failure: Error): void;
}

type Request = Extract<JSONRPCMessage, { method: string; id: string | number }>;
type Answer = Exclude<JSONRPCMessage, { method: string }>;

/** The id of a request; null for another message. */
export function requestId(message: JSONRPCMessage): Request['id'] | null {
  return 'method' in message && 'id' in message ? message.id : null;
}

export function isAnswer(message: JSONRPCMessage): message is Answer {
  return !('method' in message);
}

export function isNotification(message: JSONRPCMessage): message is JSONRPCMessage & { method: string } {
  return 'method' in message && !('id' in message);
}
