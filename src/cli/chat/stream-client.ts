import type { IncomingMessage } from 'node:http';
import type { ConfirmationAnswer, EventStreamPaths } from '../../channel/index.ts';
import { jsonObject } from '../../channel/json-object.ts';
import { type CliError, unavailable } from '../cli-error.ts';
import { readBounded } from '../read-bounded.ts';
import { failureOf, type SendOptions, sendRequest } from '../send-request.ts';
import { describeRefusal, type Problem } from './describe-refusal.ts';

/** The connection could not be made, or broke. Another attempt may succeed. */
export class ConnectionLost extends Error {
  /** How long the server asked to wait before the next attempt, ms. */
  readonly wait_ms: number;

  constructor(message: string, options: { cause?: unknown; wait_ms?: number } = {}) {
    super(message, { cause: options.cause });
    this.name = 'ConnectionLost';
    this.wait_ms = options.wait_ms ?? 0;
  }
}

/** A message to send. If it is sent again, it is identical, and is answered once. */
export interface Outgoing {
  /** `Idempotency-Key`. */
  key: string;
  message: string;
  /** Answers the question of an action; the message may be empty then. */
  confirm?: ConfirmationAnswer;
  /** Null creates a session. */
  session_id: string | null;
}

/** Maximum time until the head of a response arrives, ms. */
const ANSWER_WITHIN_MS = 15_000;
/** Time without data after which a stream counts as dead, ms. The daemon sends a comment every 10 s. */
const SILENCE_MS = 45_000;
/** Longest body of a JSON response, bytes. */
const BODY_MAX = 1_048_576;

/**
 * A client for the event-stream endpoints of a daemon. It follows no redirects, so that a token, which is in the body
 * of a message, is sent to this origin only.
 */
export class StreamClient {
  readonly #base: URL;
  readonly #paths: EventStreamPaths;
  readonly #user_id: string;
  readonly #token: string | null;

  constructor(base: URL, paths: EventStreamPaths, sender: { user_id: string; token: string | null }) {
    this.#base = base;
    this.#paths = paths;
    this.#user_id = sender.user_id;
    this.#token = sender.token;
  }

  /**
   * Sends a message. Resolves to the id of the stream of its answer.
   * @throws CliError if the message was refused, ConnectionLost if it may be sent again
   */
  async start({ key, message, confirm, session_id }: Outgoing, signal: AbortSignal): Promise<string> {
    const body = {
      user_id: this.#user_id,
      message,
      ...(confirm === undefined ? {} : { metadata: { confirm } }),
      ...(session_id === null ? {} : { session_id }),
      ...(this.#token === null ? {} : { jwt_token: this.#token }),
    };
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
    const response = await this.#send(this.#paths.start, signal, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (response.statusCode !== 200) throw await this.#refusal(response);
    const { stream_id } = await bodyOf(response);
    if (typeof stream_id === 'string') return stream_id;
    throw this.#notAgentd(response);
  }

  /**
   * The bytes of a stream after an event; null if there are no more.
   * @throws CliError if the stream was refused, ConnectionLost if it may be opened again (also while it is read)
   */
  async open(
    stream_id: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const headers = {
      Accept: 'text/event-stream',
      ...(after > 0 ? { 'Last-Event-ID': String(after) } : {}),
    };
    const response = await this.#send(this.#streamPath(stream_id), signal, { headers });
    if (response.statusCode === 204) return null;
    if (response.statusCode !== 200) throw await this.#refusal(response);
    if (!response.headers['content-type']?.startsWith('text/event-stream')) throw this.#notAgentd(response);
    return piecesOf(response, signal);
  }

  /** Stops the answer. @throws the errors of `open` */
  async stop(stream_id: string, signal: AbortSignal): Promise<void> {
    const response = await this.#send(this.#streamPath(stream_id), signal, { method: 'DELETE' });
    if (response.statusCode !== 204) throw await this.#refusal(response);
    response.destroy();
  }

  #streamPath(stream_id: string): string {
    return this.#paths.stream.replace(':stream_id', encodeURIComponent(stream_id));
  }

  async #send(
    path: string,
    signal: AbortSignal,
    options: Omit<SendOptions, 'silence_ms' | 'signal'>,
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#base.pathname.replace(/\/+$/, '')}${path}`, this.#base.origin);
    try {
      return await sendRequest(url, { ...options, silence_ms: ANSWER_WITHIN_MS, signal });
    } catch (cause) {
      signal.throwIfAborted();
      throw new ConnectionLost(failureOf(cause), { cause });
    }
  }

  /** The error for an unexpected response. */
  async #refusal(response: IncomingMessage): Promise<Error> {
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, this.#base.href)) {
      response.destroy();
      const { origin } = new URL(location, this.#base);
      return unavailable(
        `${this.#base.origin} redirects the message to ${origin}; redirects are not followed, since a token must not be sent elsewhere`,
        'If the daemon is there, pass that address with --url.',
      );
    }
    const problem: Problem = await bodyOf(response);
    const wait_seconds = Math.max(0, Math.min(Number(response.headers['retry-after']) || 0, 86_400));
    // A proxy whose daemon is briefly unavailable sends no problem document.
    if (status >= 502 && status <= 504 && problem.code === undefined) {
      return new ConnectionLost(`it answered ${status}`, { wait_ms: wait_seconds * 1000 });
    }
    if (problem.code === undefined || problem.code === 'not_found') return this.#notAgentd(response);
    return describeRefusal(problem, status, wait_seconds);
  }

  #notAgentd(response: IncomingMessage): CliError {
    response.destroy();
    return unavailable(
      `the server at ${this.#base.origin} is not an agentd daemon with event streams (status ${response.statusCode})`,
      'Compare --url, or HOST and PORT, with the address that the daemon printed. A proxy in between must pass event streams.',
    );
  }
}

/** Yields the bytes as they arrive. Ends the connection if the reader leaves, or if nothing arrives for too long. */
async function* piecesOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  response.setTimeout(SILENCE_MS, () =>
    response.destroy(new Error('the connection was silent for too long')),
  );
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

/** The JSON object of a response. Empty if there is none, or if the response is cut off: the status is then enough. */
async function bodyOf(response: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const body = await readBounded(response, BODY_MAX).catch(() => Buffer.alloc(0));
  return jsonObject(body.toString('utf8'));
}
