import { buffer } from 'node:stream/consumers';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { tooMuchData } from './failure.ts';
import { type InboundMeter, MAX_MESSAGE_BYTES } from './transport.ts';

/** Maximum number of bytes that are read from the body of an answer with an error status. */
const MAX_ERROR_BYTES = 16_384;

/** The media type of the body, without parameters. */
export function readMediaType({ headers }: Response): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export async function* limitBytes(response: Response, max: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  // The error leaves the loop, and this cancels the rest of the body.
  for await (const piece of response.body ?? []) {
    size += piece.byteLength;
    if (size > max) throw tooMuchData();
    yield piece;
  }
}

export async function* meteredBy(meter: InboundMeter, response: Response): AsyncGenerator<Uint8Array> {
  for await (const piece of response.body ?? []) {
    meter.bytes(piece.byteLength);
    yield piece;
  }
}

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return (await buffer(body)).toString('utf8');
}

/** The beginning of the body of an answer with an error status. */
export async function readBeginning(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    pieces.push(piece.subarray(0, MAX_ERROR_BYTES - size));
    size += piece.byteLength;
    if (size >= MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** How a stream that has ended can be resumed. */
export interface Cursor {
  /** Id of the last event; null if no event had one. */
  id: string | null;
  /** How long to wait before, ms, as the server says; null if it says nothing. */
  retry_ms: number | null;
}

/**
 * The data of the `message` events of an event stream (text/event-stream), as they arrive. Other events are skipped,
 * and so are events without data: a server sends one with an id at the beginning of a stream that can be resumed. Ends
 * when the stream ends. If the caller leaves the loop, the stream is canceled.
 * @param cursor is kept up to date
 * @throws McpFailure if an event is too large.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  cursor: Cursor = { id: null, retry_ms: null },
): AsyncGenerator<string> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    maxBufferSize: MAX_MESSAGE_BYTES,
    onEvent: (event) => events.push(event),
    onRetry(retry_ms) {
      cursor.retry_ms = retry_ms;
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') throw tooMuchData();
    },
  });
  const decoder = new TextDecoder();
  for await (const piece of body) {
    parser.feed(decoder.decode(piece, { stream: true }));
    for (const { id = '', event = 'message', data } of events.splice(0)) {
      // The parser limits only events that arrive in several pieces.
      if (data.length > MAX_MESSAGE_BYTES) throw tooMuchData();
      if (EVENT_ID.test(id)) cursor.id = id;
      if (event === 'message' && data !== '') yield data;
    }
  }
}

/** An id that a header can contain. */
const EVENT_ID = /^[\x21-\x7e]{1,1024}$/;
