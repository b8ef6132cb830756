import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ResponseStream } from '../../channel/index.ts';

/**
 * Hands the raw response to the route's writer: the head leaves at once, the response ends with the writer.
 * A writer that fails while somebody listens breaks the connection; one that fails because nobody does, or
 * because the daemon stops, just ends.
 *
 * Nobody waits for it: a stream may be open for hours, and all that led to it would be kept in memory as long.
 * @param stopping aborts when the daemon stops
 * @param failed told before the connection is broken
 */
export function stream(
  res: ServerResponse,
  write: (out: ResponseStream) => Promise<void>,
  stopping: AbortSignal,
  failed: (error: unknown) => void,
): void {
  res.flushHeaders();
  writeAll(res, write, stopping).catch((error: unknown) => {
    failed(error);
    // Half an answer is out: only a broken connection can still say that it is not whole.
    res.destroy();
  });
}

async function writeAll(
  res: ServerResponse,
  write: (out: ResponseStream) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const signal = endSignal(res, stopping);
  const wire = wireOf(res);
  try {
    await write(responseStream(res, wire, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  // A client that does not read would hold up a daemon that stops.
  if (signal.aborted && wire.needsDrain()) res.destroy();
  else res.end();
}

function responseStream(res: ServerResponse, wire: Wire, signal: AbortSignal): ResponseStream {
  let waiting: PromiseWithResolvers<void> | null = null;
  const goOn = () => {
    waiting?.resolve();
    waiting = null;
  };
  // One listener each for the whole stream: a listener per wait would pile up.
  wire.source.on('drain', goOn);
  // The connection may live on, for the client's next request.
  res.on('close', () => wire.source.off('drain', goOn));
  signal.addEventListener('abort', goOn, { once: true });
  return {
    signal,
    write: (frame) => !signal.aborted && wire.write(frame),
    drained() {
      if (signal.aborted || !wire.needsDrain()) return Promise.resolve();
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    },
  };
}

/** Where the body of a response is written. */
interface Wire {
  write(frame: string | Uint8Array): boolean;
  needsDrain(): boolean;
  source: EventEmitter;
}

/**
 * Past Node's response, which makes each chunk out of four parts: what goes to many readers is made a chunk
 * once. Behind another answer on its connection, and for a client of HTTP/1.0, the response writes by itself.
 */
function wireOf(res: ServerResponse): Wire {
  const { socket } = res;
  if (!socket || !res.chunkedEncoding) {
    return {
      write: (frame) => res.write(frame),
      needsDrain: () => res.writableNeedDrain,
      source: res,
    };
  }
  return {
    // An empty chunk would be the end.
    write: (frame) => frame.length === 0 || (socket.writable && socket.write(chunkOf(frame))),
    needsDrain: () => socket.writableNeedDrain,
    source: socket,
  };
}

const chunks = new WeakMap<Uint8Array, Buffer>();

/** RFC 9112 §7.1. Bytes that are written to several readers are the same object each time. */
function chunkOf(frame: string | Uint8Array): Buffer {
  const known = typeof frame === 'string' ? undefined : chunks.get(frame);
  if (known) return known;
  const bytes = Buffer.from(frame);
  const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]);
  if (typeof frame !== 'string') chunks.set(frame, chunk);
  return chunk;
}

const CRLF = Buffer.from('\r\n');

/** Aborts when the response closes or the daemon stops, and lets go of the daemon's signal then. */
function endSignal(res: ServerResponse, stopping: AbortSignal): AbortSignal {
  const end = new AbortController();
  const stop = () => end.abort();
  if (stopping.aborted) stop();
  else stopping.addEventListener('abort', stop, { once: true });
  const leave = () => {
    stopping.removeEventListener('abort', stop);
    end.abort();
  };
  if (res.closed) leave();
  else res.on('close', leave);
  return end.signal;
}
