import {
  type ConnectionOptions,
  type McpConnection,
  openConnection,
  VersionsUnknown,
} from './mcp-connection.ts';
import { McpFailure, McpStatus } from './mcp-failure.ts';
import type { McpTransport } from './mcp-transport.ts';

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
