import type {
  ChannelRequest,
  ChannelScope,
  OpenStream,
  ResponseStream,
  StreamEvent,
  StreamPlugin,
  StreamScope,
  StreamTokens,
  TokenSource,
  WebChannel,
} from '../../src/channel/index.ts';

/** Token sources of the start request, in the order of their priority (agentd-sse(7)). */
const TOKEN_SOURCES: readonly TokenSource[] = ['header', 'body'];

const START_PATH = '/sse/chat';
const STREAM_PATH = '/sse/stream/:stream_id';

/**
 * Web clients that read the reply while it is written: a POST request sends the message, and an event stream returns
 * the answer.
 */
const sse: StreamPlugin = {
  name: 'sse',
  apiVersion: 1,
  summary: 'Visitors of a website; the reply arrives as server-sent events while it is written.',
  settings: [
    {
      name: 'SSE_ENABLED',
      kind: 'boolean',
      default: false,
      sentence: 'Turns the sse channel on.',
    },
    {
      name: 'SSE_REQUIRE_TOKEN',
      kind: 'boolean',
      default: false,
      sentence: 'Whether opening a stream requires a user token; even an invalid token is accepted.',
    },
    {
      name: 'SSE_STREAM_TTL_SECONDS',
      kind: 'integer',
      default: 300,
      min: 1,
      max: 86_400,
      unit: 'seconds',
      sentence: 'How long a stream can wait to be opened, and how long it can be read after its end.',
    },
    {
      name: 'SSE_MAX_READERS_PER_CLIENT',
      kind: 'integer',
      default: 256,
      min: 1,
      max: 1_000_000,
      sentence:
        'Maximum number of streams that one client address may have open at a time in each process. Readers with a valid token are not counted.',
    },
  ],
  detect: (settings) => settings.SSE_ENABLED === true,
  delivery: 'stream',
  capabilities: {
    namespace: 'web',

    textLimit: null,
    markdown: 'commonmark',
    typing: false,
  },
  create: (scope) => createSse(scope),
  eventStream: { start: START_PATH, stream: STREAM_PATH },
};

function createSse(scope: StreamScope): WebChannel {
  const ttl_ms = Number(scope.settings.SSE_STREAM_TTL_SECONDS) * 1000;
  const max_readers_per_client = Number(scope.settings.SSE_MAX_READERS_PER_CLIENT);
  const required = scope.settings.SSE_REQUIRE_TOKEN === true;
  return {
    routes: [
      {
        method: 'POST',
        path: START_PATH,
        contentType: 'application/json',
        cors: true,
        limited: true,
        token: (request) => scope.readToken(request, TOKEN_SOURCES),
        // The cookie is set even if the message is refused: an earlier person's cookie must not remain.
        headers(request) {
          const cookie = cookieFor(scope.readToken(request, TOKEN_SOURCES));
          return cookie === null ? {} : { 'Set-Cookie': cookie };
        },
        thread: readSessionId,
        async handle(request) {
          const message = scope.readMessage(request, TOKEN_SOURCES);
          const ambient = tokensInCookie(request.headers.cookie);
          const { stream_id } = await scope.streams.start(message, request, { ttl_ms, ambient });
          return { body: { stream_id } };
        },
      },
      {
        method: 'GET',
        path: STREAM_PATH,
        cors: true,
        async handle(request) {
          const stream = await scope.streams.open(readStreamId(request), request, {
            tokens: readTokens(request, required),
            after: readLastEventId(request),
            max_readers_per_client,
          });
          // Any status other than 200 stops an EventSource. 204 says that there are no more events.
          if (stream === null) return { status: 204 };
          const detailed = request.query.get('details') === 'tools';
          return { headers: STREAM_HEADERS, body: (out) => writeEvents(stream, out, scope, detailed) };
        },
      },
      {
        method: 'DELETE',
        path: STREAM_PATH,
        cors: true,
        async handle(request) {
          await scope.streams.stop(readStreamId(request), request, { tokens: readTokens(request, required) });
          return { status: 204 };
        },
      },
    ],
  };
}

/** The session that the request names, valid or not. */
function readSessionId(request: ChannelRequest): string | null {
  const { session_id } = request.json();
  return typeof session_id === 'string' ? session_id : null;
}

function readStreamId(request: ChannelRequest): string {
  return request.params.stream_id ?? '';
}

/** The tokens of the request: the cookies, and the query. An empty token in the query counts as none. */
function readTokens(request: ChannelRequest, required: boolean): StreamTokens {
  return {
    ambient: tokensInCookie(request.headers.cookie),
    explicit: request.query.get('token') || undefined,
    required,
  };
}

/**
 * The number of the last event that the client has read. An EventSource sends the header by itself when it reconnects,
 * so the header is newer than the number in the query. If the value is not an event number, the stream is read from the
 * start.
 */
function readLastEventId(request: ChannelRequest): number {
  const given = request.headers['last-event-id'] || request.query.get('last_event_id') || '';
  return /^\d{1,15}$/.test(given) ? Number(given) : 0;
}

export default sse;

const NAME = 'jwt_token';

/** Written by hand and not by a library, because the exact text is specified (agentd-sse(7)). */
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const MAX_AGE = 3600;

/** Size of a cookie's name and value that every browser must support, in bytes (RFC 6265 §6.1). */
const COOKIE_MAX = 4096;

/**
 * Returns the `Set-Cookie` header for the token of a message, valid or not. The header clears the cookie if the token
 * cannot be written into a cookie, or if the client says "signed out" (null), so that an earlier person's token does
 * not remain. Returns null if there was no token: the cookie does not change.
 */
export function cookieFor(token: string | null | undefined): string | null {
  if (token === undefined) return null;
  const pair = `${NAME}=${token}`;
  if (token === null || !/^[A-Za-z0-9_.-]+$/.test(token) || pair.length > COOKIE_MAX) {
    return `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;
  }
  return `${pair}; Max-Age=${MAX_AGE}; ${ATTRIBUTES}`;
}

/**
 * The value of each cookie `jwt_token` in a `Cookie` header. There may be several: a page on a sibling host can set a
 * cookie with the same name (RFC 6265 §8.6).
 */
export function tokensInCookie(header: string | undefined): readonly string[] {
  const pairs = (header?.split(';') ?? []).map((part) => part.split('='));
  return pairs.filter(([name]) => name?.trim() === NAME).map(([, ...value]) => value.join('=').trim());
}

/** Caches and buffering proxies must not delay the events. */
const STREAM_HEADERS = {
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

/** What was encoded last, for readers who asked for all members of `tool_call` and for the others. */
const last: Record<'plain' | 'detailed', { events: readonly StreamEvent[]; frames: Buffer }> = {
  plain: { events: [], frames: Buffer.alloc(0) },
  detailed: { events: [], frames: Buffer.alloc(0) },
};

/**
 * Encodes events. Readers that get the same list one after another share the result.
 * @param detailed whether the reader asked for all members of `tool_call`
 */
export function encodeFrames(events: readonly StreamEvent[], detailed: boolean): Buffer {
  const mode = detailed ? 'detailed' : 'plain';
  if (last[mode].events !== events) {
    const frames = Buffer.from(events.map((event) => encodeFrame(event, detailed)).join(''));
    last[mode] = { events, frames };
  }
  return last[mode].frames;
}

/** Encodes one event. Its data is one line, because JSON contains no line breaks. */
function encodeFrame({ id, event, data }: StreamEvent, detailed: boolean): string {
  const shown = event === 'tool_call' && !detailed ? pickProgress(data) : data;
  return `id: ${id}\nevent: ${event}\ndata: ${shown}\n\n`;
}

function pickProgress(data: string): string {
  const { tool_name, status } = JSON.parse(data) as Record<string, unknown>;
  return JSON.stringify({ tool_name, status });
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
  detailed: boolean,
): Promise<void> {
  let hasRoom = out.write(RETRY);
  const timer = setInterval(() => {
    if (hasRoom) hasRoom = out.write(COMMENT);
  }, COMMENT_INTERVAL_MS);
  try {
    await stream.follow({
      take: (events) => {
        hasRoom = out.write(encodeFrames(events, detailed)) && hasRoom;
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
