import type { ChannelScope, OpenStream, ResponseStream, StreamEvent } from '../../src/channel/index.ts';

/** Neither a cache nor a proxy that gathers may stand in the way. */
export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const;

/** How long a client waits before it comes back, ms: long enough for a daemon that stops to be gone. */
const RETRY_MS = 1000;
/** A comment now and then keeps proxies from closing a connection that seems idle, ms. */
const COMMENT_INTERVAL_MS = 10_000;
const COMMENT = ': still here\n\n';
/** How long a reader may take no byte before it is dropped, ms; it comes back where it was. */
const SLOW_READER_MS = 30_000;

const frames = new WeakMap<StreamEvent, Buffer>();

/** An event as it goes over the wire, built once for all its readers. JSON has no line breaks of its own. */
export function frameOf(event: StreamEvent): Buffer {
  let frame = frames.get(event);
  if (!frame) {
    frame = Buffer.from(`id: ${event.id}\nevent: ${event.event}\ndata: ${event.data}\n\n`);
    frames.set(event, frame);
  }
  return frame;
}

/**
 * Writes a stream to one reader until it ends, the reader goes away or the daemon stops. What the reader does
 * not take is not buffered beyond its socket.
 * @throws `unavailable` to a reader that took nothing for too long, which breaks its connection.
 */
export async function writeEvents(
  stream: OpenStream,
  out: ResponseStream,
  scope: Pick<ChannelScope, 'problem'>,
): Promise<void> {
  let hasRoom = out.write(`retry: ${RETRY_MS}\n\n`);
  const timer = setInterval(() => {
    if (hasRoom) hasRoom = out.write(COMMENT);
  }, COMMENT_INTERVAL_MS);
  try {
    for await (const events of stream.follow(out.signal)) {
      for (const event of events) {
        if (!hasRoom) await room(out, scope);
        if (out.signal.aborted) return;
        hasRoom = out.write(frameOf(event));
      }
    }
  } finally {
    clearInterval(timer);
  }
}

async function room(out: ResponseStream, scope: Pick<ChannelScope, 'problem'>): Promise<void> {
  const tooLate = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => tooLate.reject(scope.problem('unavailable', 'The reader is too slow.')),
    SLOW_READER_MS,
  );
  try {
    await Promise.race([out.drained(), tooLate.promise]);
  } finally {
    clearTimeout(timer);
  }
}
