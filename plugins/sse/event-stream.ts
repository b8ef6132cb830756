import type { ChannelScope, OpenStream, ResponseStream, StreamEvent } from '../../src/channel/index.ts';

/** Neither a cache nor a proxy that gathers may stand in the way. */
export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const;

/** How long a client waits before it comes back: long enough for a daemon that stops to be gone (1 s). */
const RETRY = Buffer.from('retry: 1000\n\n');
/** A comment now and then keeps proxies from closing a connection that seems idle, ms. */
const COMMENT_INTERVAL_MS = 10_000;
const COMMENT = Buffer.from(': still here\n\n');
/** How long a reader may take no byte before it is dropped, ms; it comes back where it was. */
const SLOW_READER_MS = 30_000;

const frames = new WeakMap<readonly StreamEvent[], Buffer>();

/** Events as they go over the wire, built once for all who are told of them together. */
export function framesOf(events: readonly StreamEvent[]): Buffer {
  let joined = frames.get(events);
  if (!joined) {
    joined = Buffer.from(events.map(frameOf).join(''));
    frames.set(events, joined);
  }
  return joined;
}

/** JSON has no line breaks of its own. */
function frameOf({ id, event, data }: StreamEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
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
  let hasRoom = out.write(RETRY);
  const timer = setInterval(() => {
    if (hasRoom) hasRoom = out.write(COMMENT);
  }, COMMENT_INTERVAL_MS);
  try {
    await stream.follow({
      take: (events) => {
        hasRoom = out.write(framesOf(events)) && hasRoom;
        return hasRoom;
      },
      room: async () => {
        await room(out, scope);
        hasRoom = true;
      },
      signal: out.signal,
    });
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
