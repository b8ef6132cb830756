import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A response as received. */
export interface RawResponse {
  status: number;
  /** The names are in lower case. If a name occurs twice, the last value counts. */
  headers: Record<string, string>;
  body: Buffer;
}

/** A connection to which a test can write any bytes. It parses the responses. */
export class RawConnection {
  readonly #socket: Socket;
  #received: Buffer[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#received.push(chunk));
    socket.on('error', () => {
      // The other end may reset a connection that it refuses. The data received before the reset is still used.
    });
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** Resolves when the bytes have been sent, or if the other end has closed. */
  write(bytes: Buffer | string): Promise<void> {
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  /** Closes the connection for writing; responses are still read. */
  end(): void {
    this.#socket.end();
  }

  /** Breaks the connection. */
  async cut(): Promise<void> {
    if (this.#socket.closed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }

  /**
   * Resolves to all responses, when this many have arrived or the other end has closed.
   * @param head whether the first response answers a HEAD
   */
  async responses(count = Number.POSITIVE_INFINITY, head = false): Promise<RawResponse[]> {
    for (;;) {
      const found = parseResponses(Buffer.concat(this.#received), head, this.#socket.readableEnded);
      if (found.length >= count || this.#socket.readableEnded || this.#socket.closed) return found;
      await new Promise<void>((resolve) => {
        const go = () => {
          for (const event of ['data', 'end', 'close']) this.#socket.off(event, go);
          resolve();
        };
        for (const event of ['data', 'end', 'close']) this.#socket.on(event, go);
      });
    }
  }
}

/** The complete responses at the beginning of the received bytes, without interim responses (1xx). */
function parseResponses(received: Buffer, head: boolean, ended: boolean): RawResponse[] {
  const found: RawResponse[] = [];
  let rest = received;
  for (;;) {
    const border = rest.indexOf('\r\n\r\n');
    if (border < 0) break;
    const [statusLine = '', ...lines] = rest.subarray(0, border).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(statusLine)?.[1]);
    if (Number.isNaN(status)) throw new Error(`no status line: ${statusLine}`);
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const after = rest.subarray(border + 4);
    const bodiless = status < 200 || status === 204 || status === 304 || (head && found.length === 0);
    const length = bodiless ? 0 : lengthOf(headers, after, ended);
    if (length === null || after.length < length) break;
    if (status >= 200) found.push({ status, headers, body: after.subarray(0, length) });
    rest = after.subarray(length);
  }
  return found;
}

/**
 * The length of the body. Null if it is not known yet. Chunked bodies are not parsed: they last until the connection
 * ends.
 */
function lengthOf(headers: Record<string, string>, after: Buffer, ended: boolean): number | null {
  if (headers['content-length'] !== undefined) return Number(headers['content-length']);
  return ended ? after.length : null;
}

/** The bytes of a POST with a JSON body. */
export function rawPost(path: string, body: unknown, headers: Record<string, string> = {}): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const head = {
    Host: 'agentd.example',
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${path} HTTP/1.1`, ...lines, '', text].join('\r\n');
}
