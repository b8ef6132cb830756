import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

/** A connection on a raw socket, so that the load costs less than the server that it measures. */
export class Connection {
  readonly #socket: Socket;
  #received = '';
  #answered: ((status: number) => void) | null = null;
  #failed: ((error: Error) => void) | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('the server closed a connection that was in use')));
  }

  static async open(port: number): Promise<Connection> {
    const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** Sends a complete request. One at a time. @returns the status of its answer, after the answer's last byte */
  exchange(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#failed = null;
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    const length = answerLength(this.#received);
    if (length === null || this.#received.length < length) return;
    if (this.#received.length > length) {
      this.#failed?.(new Error('the server sent more than was requested'));
      return;
    }
    const status = Number(this.#received.slice(9, 12));
    this.#received = '';
    this.#answered?.(status);
  }
}

const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked\r\n/i;
/** The last chunk. If the body is empty, it follows the head directly. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Length of head and body together; null while it is unknown. */
function answerLength(received: string): number | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = LENGTH.exec(received)?.[1];
  if (length === undefined && CHUNKED.test(received)) {
    const last = received.indexOf(LAST_CHUNK, end + 2);
    return last < 0 ? null : last + LAST_CHUNK.length;
  }
  if (length === undefined) throw new Error(`an answer without Content-Length: ${received.slice(0, end)}`);
  return end + 4 + Number(length);
}
