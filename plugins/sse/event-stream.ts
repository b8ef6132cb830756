import type { ChannelScope, OpenStream, ResponseStream, StreamEvent } from '../../src/channel/index.ts';

/** Caches and buffering proxies must not delay the events. */
export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const;

/** A client waits one second before it reconnects. By then, a daemon that is stopping has exited. */
const RETRY = Buffer.from('retry: 1000\n\n');
/** Interval between comments, in ms. They keep proxies from closing a connection that seems idle. */
const COMMENT_INTERVAL_MS = 10_000;
const COMMENT = Buffer.from(': still here\n\n');
/**
 * Time after which a reader that accepts no data is disconnected, in ms. After it reconnects, it continues where it
 * stopped.
 */
const SLOW_READER_MS = 30_000;

const frames = new WeakMap<readonly StreamEvent[], Buffer>();

/** Encodes events. All readers that get the same list share the result. */
export function framesOf(events: readonly StreamEvent[]): Buffer {
  let joined = frames.get(events);
  if (!joined) {
    joined = Buffer.from(events.map(frameOf).join(''));
    frames.set(events, joined);
  }
  return joined;
}

/** Encodes one event. Its data is one line, because JSON contains no line breaks. */
function frameOf({ id, event, data }: StreamEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
}

/**
 * Writes a stream to one reader until the stream ends, the reader disconnects or the daemon stops. Nothing is buffered
 * beyond the reader's socket.
 * @throws `unavailable` if the reader accepts no data for too long; the connection is then closed
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
