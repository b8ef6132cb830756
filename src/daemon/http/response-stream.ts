import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ResponseStream } from '../../channel/index.ts';
import { onAbort } from '../time/time-limit.ts';

/**
 * Passes the raw response to the route's writer: the head is sent at once, and the response ends when the writer does.
 * If the writer fails while somebody listens, the connection is broken. If it fails because nobody listens, or because
 * the daemon stops, the response just ends.
 *
 * Does not wait for the writer: a stream may be open for hours, and a caller that waits would stay in memory for as
 * long.
 * @param stopping aborts when the daemon stops
 * @param failed called before the connection is broken
 */
export function stream(
  res: ServerResponse,
  write: (out: ResponseStream) => Promise<void>,
  stopping: AbortSignal,
  failed: (error: unknown) => void,
): void {
  sendTogether(res.socket);
  res.flushHeaders();
  const out = new WireStream(res, stopping);
  const fail = (error: unknown) => {
    if (out.signal.aborted) return out.end();
    failed(error);
    // A part of the answer was sent, so only a broken connection shows that the answer is incomplete.
    res.destroy();
  };
  try {
    Promise.resolve(write(out)).then(() => out.end(), fail);
  } catch (error) {
    fail(error);
  }
}

/** The head and the writer's first data are sent in one packet. */
function sendTogether(socket: Socket | null): void {
  if (!socket) return;
  socket.cork();
  process.nextTick(() => socket.uncork());
}

/** Created once: `abort` without a reason would create an error, with a stack, for each response that ends. */
const ENDED = new DOMException('The response has ended.', 'AbortError');

class WireStream implements ResponseStream {
  readonly #res: ServerResponse;
  readonly #wire: Wire;
  /** Aborts when the response closes or the daemon stops. */
  readonly #over = new AbortController();
  #hasEnded = false;
  #waiting: PromiseWithResolvers<void> | null = null;

  constructor(res: ServerResponse, stopping: AbortSignal) {
    this.#res = res;
    this.#wire = res.socket && res.chunkedEncoding ? new SocketWire(res.socket) : new ResponseWire(res);
    if (stopping.aborted || res.closed) {
      this.#over.abort(ENDED);
      return;
    }
    const { source } = this.#wire;
    // One listener per event for the whole stream: listeners that are added for each wait would pile up.
    const goOn = () => this.#goOn();
    const stop = () => {
      this.#over.abort(ENDED);
      goOn();
    };
    source.on('drain', goOn);
    const stopWaiting = onAbort(stopping, stop);
    res.on('close', () => {
      // The connection may stay open for the client's next request.
      source.off('drain', goOn);
      stopWaiting();
      stop();
    });
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  write(frame: string | Uint8Array): boolean {
    return !this.#hasEnded && !this.signal.aborted && this.#wire.write(frame);
  }

  /** Ends the response. What is written from now on would be in the next answer on the connection. */
  end(): void {
    this.#hasEnded = true;
    // A client that does not read would delay the stop of the daemon.
    if (this.signal.aborted && !this.#wire.hasRoom) this.#res.destroy();
    else this.#res.end();
  }

  /**
   * Resolves when there is room. On a broken connection it resolves only with the signal: if a writer continued at
   * once, the signal would never get the chance to fire.
   */
  drained(): Promise<void> {
    if (this.signal.aborted || this.#wire.hasRoom) return Promise.resolve();
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  #goOn(): void {
    this.#waiting?.resolve();
    this.#waiting = null;
  }
}

/** The destination of the body of a response. */
interface Wire {
  write(frame: string | Uint8Array): boolean;
  /** Whether more can be written now; never on a broken connection. */
  readonly hasRoom: boolean;
  readonly source: EventEmitter;
}

/**
 * Writes through Node's response: for a response that must wait for an earlier one on its connection, and for HTTP/1.0.
 */
class ResponseWire implements Wire {
  readonly source: ServerResponse;

  constructor(res: ServerResponse) {
    this.source = res;
  }

  get hasRoom(): boolean {
    return !this.source.destroyed && !this.source.writableNeedDrain;
  }

  write(frame: string | Uint8Array): boolean {
    return this.source.write(frame);
  }
}

/**
 * Writes to the socket, bypassing Node's response, which makes each chunk out of four parts. Data for many readers is
 * made into a chunk only once.
 */
class SocketWire implements Wire {
  readonly source: Socket;

  constructor(socket: Socket) {
    this.source = socket;
  }

  get hasRoom(): boolean {
    return this.source.writable && !this.source.writableNeedDrain;
  }

  write(frame: string | Uint8Array): boolean {
    // An empty chunk would end the body.
    if (frame.length === 0) return true;
    return this.source.writable && this.source.write(encodeChunk(frame));
  }
}

/** The last chunk. Several readers get the same bytes one after another. */
let last: { frame: string | Uint8Array; chunk: Buffer } | null = null;

/** A chunk of the body (RFC 9112 §7.1). */
function encodeChunk(frame: string | Uint8Array): Buffer {
  if (last?.frame !== frame) {
    const bytes = Buffer.from(frame);
    const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]);
    last = { frame, chunk };
  }
  return last.chunk;
}

const CRLF = Buffer.from('\r\n');
