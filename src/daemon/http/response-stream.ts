import type { ServerResponse } from 'node:http';
import type { ResponseStream } from '../../channel/index.ts';
import type { Context } from './exchange.ts';

/**
 * Hands the raw response to the route's writer: the head leaves at once, the response ends with the writer.
 * A writer that fails while somebody listens breaks the connection; one that fails because nobody does, or
 * because the daemon stops, just ends.
 * @param stopping aborts when the daemon stops
 */
export async function stream(
  ctx: Context,
  write: (out: ResponseStream) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const { res } = ctx;
  ctx.respond = false;
  res.flushHeaders();
  if (ctx.method === 'HEAD') {
    res.end();
    return;
  }
  const signal = endSignal(res, stopping);
  try {
    await write(responseStream(res, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  // A client that does not read would hold up a daemon that stops.
  if (signal.aborted && res.writableNeedDrain) res.destroy();
  else res.end();
}

function responseStream(res: ServerResponse, signal: AbortSignal): ResponseStream {
  let waiting: PromiseWithResolvers<void> | null = null;
  const goOn = () => {
    waiting?.resolve();
    waiting = null;
  };
  // One listener each for the whole stream: a listener per wait would pile up.
  res.on('drain', goOn);
  signal.addEventListener('abort', goOn, { once: true });
  return {
    signal,
    write: (frame) => !signal.aborted && res.write(frame),
    drained() {
      if (signal.aborted || !res.writableNeedDrain) return Promise.resolve();
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    },
  };
}

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
  else res.once('close', leave);
  return end.signal;
}
