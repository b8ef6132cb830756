import { Duplex } from 'node:stream';

export interface Request {
  method: 'GET' | 'POST' | 'DELETE';
  /** The path with the query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface Response {
  status: number;
  /** Headers with lower-case names. */
  headers: ReadonlyMap<string, string>;
  body: string;
}

/** The connection was closed before its response was complete. */
export class ConnectionLost extends Error {}

const BLANK_LINE = '\r\n\r\n';

/**
 * A client's keep-alive connection to a server of the same process, without a socket: the `connection` event of a
 * Node.js server accepts any duplex stream. The server parses and writes HTTP as it does on the network.
 */
export class Connection extends Duplex {
  /** The remote address of the socket. It is set before each request, because connections are reused. */
  remoteAddress = '';
  #received = '';
  #waiting: PromiseWithResolvers<Response> | null = null;

  /**
   * Sends a request. Send only one request at a time. Rejects with `ConnectionLost` if the connection is closed before
   * the response is complete.
   */
  request({ method, path, headers = {}, body = '' }: Request): Promise<Response> {
    this.#waiting = Promise.withResolvers();
    const lines = [`${method} ${path} HTTP/1.1`, 'Host: chat.example.com'];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    if (method === 'POST') lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    const { promise } = this.#waiting;
    this.push(`${lines.join('\r\n')}${BLANK_LINE}${body}`);
    return promise;
  }

  setTimeout(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  destroySoon(): void {
    this.end();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#received += chunk.toString('latin1');
    done();
    this.#deliver();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    for (const { chunk } of chunks) this.#received += chunk.toString('latin1');
    done();
    this.#deliver();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting?.reject(new ConnectionLost('the connection was closed before its response was complete'));
    this.#waiting = null;
    done(error);
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }

  #deliver(): void {
    const end = this.#received.indexOf(BLANK_LINE);
    if (end < 0 || this.#waiting === null) return;
    const [start = '', ...lines] = this.#received.slice(0, end).split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const;
      }),
    );
    const status = Number(start.slice(9, 12));
    const rest = this.#received.slice(end + BLANK_LINE.length);
    const body = bodyOf(rest, status, headers);
    if (body === null) return;
    this.#received = '';
    const { resolve } = this.#waiting;
    this.#waiting = null;
    resolve({ status, headers, body });
  }
}

/** Returns the body, or null if it has not arrived completely. In `rest`, each character is a byte (latin1). */
function bodyOf(rest: string, status: number, headers: ReadonlyMap<string, string>): string | null {
  if (status === 204 || status === 304) return '';
  if (headers.get('transfer-encoding') === 'chunked') return dechunked(rest);
  const length = Number(headers.get('content-length') ?? 0);
  return rest.length < length ? null : decoded(rest.slice(0, length));
}

function dechunked(rest: string): string | null {
  if (!rest.endsWith('0\r\n\r\n')) return null;
  let text = '';
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at);
    if (line < 0) return null;
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (size === 0) return decoded(text);
    text += rest.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
    if (at > rest.length) return null;
  }
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
