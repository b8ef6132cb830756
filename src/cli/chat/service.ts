import { once } from 'node:events';
import type { request as httpRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { EventStreamPaths } from '../../channel/index.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type Problem, refusal } from './refusal.ts';

/** The connection did not come about, or broke: another attempt may do. */
export class ConnectionLost extends Error {
  /** What the other end asked to wait before, ms. */
  readonly wait_ms: number;

  constructor(message: string, options: { cause?: unknown; wait_ms?: number } = {}) {
    super(message, { cause: options.cause });
    this.name = 'ConnectionLost';
    this.wait_ms = options.wait_ms ?? 0;
  }
}

/** A message as it goes out; sent again, it is the very same, and is answered once. */
export interface Outgoing {
  /** `Idempotency-Key`. */
  key: string;
  message: string;
  /** Null begins a session. */
  session_id: string | null;
}

/** Until the head of an answer has come, ms. */
const ANSWER_WITHIN_MS = 15_000;
/** The daemon sends a comment every 10 s: a stream that says nothing for so long is dead, ms. */
const SILENCE_MS = 45_000;
/** Longest body of a JSON answer, bytes. */
const BODY_MAX = 1_048_576;

/**
 * The event-stream interface of one daemon. Follows no redirect, so that the token of a message, which is in
 * its body, goes to this origin and nowhere else.
 */
export class Service {
  readonly #base: URL;
  readonly #paths: EventStreamPaths;
  readonly #user_id: string;
  readonly #token: string | null;

  constructor(base: URL, paths: EventStreamPaths, speaker: { user_id: string; token: string | null }) {
    this.#base = base;
    this.#paths = paths;
    this.#user_id = speaker.user_id;
    this.#token = speaker.token;
  }

  /**
   * Hands over a message; resolves to the id of the stream that its answer comes on.
   * @throws CliError where it was refused, ConnectionLost where it may be sent again
   */
  async start({ key, message, session_id }: Outgoing, signal: AbortSignal): Promise<string> {
    const body = {
      user_id: this.#user_id,
      message,
      ...(session_id === null ? {} : { session_id }),
      ...(this.#token === null ? {} : { jwt_token: this.#token }),
    };
    const response = await this.#ask(this.#paths.start, 'POST', signal, JSON.stringify(body), {
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    });
    if (response.statusCode !== 200) throw await this.#refusal(response);
    const { stream_id } = await bodyOf(response);
    if (typeof stream_id === 'string') return stream_id;
    throw this.#stranger(response);
  }

  /**
   * The bytes of a stream after an event; null where there are none left.
   * @throws CliError where it was refused, ConnectionLost where it may be opened again, also meanwhile
   */
  async open(
    stream_id: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const response = await this.#ask(this.#streamPath(stream_id), 'GET', signal, undefined, {
      Accept: 'text/event-stream',
      ...(after > 0 ? { 'Last-Event-ID': String(after) } : {}),
    });
    if (response.statusCode === 204) return null;
    if (response.statusCode !== 200) throw await this.#refusal(response);
    if (!response.headers['content-type']?.startsWith('text/event-stream')) throw this.#stranger(response);
    return piecesOf(response, signal);
  }

  /** Stops the answer. @throws as `open` */
  async stop(stream_id: string, signal: AbortSignal): Promise<void> {
    const response = await this.#ask(this.#streamPath(stream_id), 'DELETE', signal);
    if (response.statusCode !== 204) throw await this.#refusal(response);
    response.destroy();
  }

  #streamPath(stream_id: string): string {
    return this.#paths.stream.replace(':stream_id', encodeURIComponent(stream_id));
  }

  /** Resolves with the head of the answer. Each request has a connection of its own: none is stale. */
  async #ask(
    path: string,
    method: string,
    signal: AbortSignal,
    body?: string,
    headers: RequestOptions['headers'] = {},
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#base.pathname.replace(/\/+$/, '')}${path}`, this.#base.origin);
    const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('no answer came in time')), ANSWER_WITHIN_MS);
    try {
      const asked = (request as typeof httpRequest)(url, { method, headers, agent: false });
      const leave = () => asked.destroy();
      late.signal.addEventListener('abort', leave);
      signal.addEventListener('abort', leave);
      asked.once('close', () => signal.removeEventListener('abort', leave));
      if (signal.aborted) leave();
      asked.end(body);
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      // What breaks later is met by those who read the body.
      asked.on('error', () => undefined);
      return response;
    } catch (cause) {
      signal.throwIfAborted();
      const why = late.signal.aborted ? (late.signal.reason as Error) : (cause as NodeJS.ErrnoException);
      throw new ConnectionLost((why.message || (why as NodeJS.ErrnoException).code) ?? 'no answer', {
        cause: why,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** What the status says, and the problem document where there is one. */
  async #refusal(response: IncomingMessage): Promise<Error> {
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, this.#base.href)) {
      response.destroy();
      const { origin } = new URL(location, this.#base);
      return new CliError(
        EXIT.unavailable,
        `${this.#base.origin} sends the message on to ${origin}, which is not followed: a token goes nowhere else`,
        'If that is where the daemon is, name it with --url.',
      );
    }
    const problem: Problem = await bodyOf(response);
    const wait_seconds = Math.max(0, Math.min(Number(response.headers['retry-after']) || 0, 86_400));
    // A proxy whose daemon is away for a moment says so without a problem document.
    if (status >= 502 && status <= 504 && problem.code === undefined) {
      return new ConnectionLost(`it answered ${status}`, { wait_ms: wait_seconds * 1000 });
    }
    if (problem.code === undefined || problem.code === 'not_found') return this.#stranger(response);
    return refusal(problem, status, wait_seconds);
  }

  #stranger(response: IncomingMessage): CliError {
    response.destroy();
    return new CliError(
      EXIT.unavailable,
      `what answers at ${this.#base.origin} is no agentd with event streams (status ${response.statusCode})`,
      'Compare --url, or HOST and PORT, with the address that the daemon printed; a proxy in between must let event streams through.',
    );
  }
}

/** Bytes as they come; a reader that leaves ends the connection, one that hears nothing gives it up. */
async function* piecesOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  response.setTimeout(SILENCE_MS, () => response.destroy(new Error('nothing was heard any more')));
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConnectionLost((cause as Error).message, { cause });
  } finally {
    response.destroy();
  }
  signal.throwIfAborted();
}

/** The JSON object of an answer; another's page is none. */
async function bodyOf(response: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length;
      if (bytes > BODY_MAX) return {};
      chunks.push(chunk as Buffer);
    }
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Cut off, or no JSON: the status says all that counts.
    return {};
  }
}
