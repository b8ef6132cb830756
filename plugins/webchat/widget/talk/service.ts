import {
  type Confirmation,
  type ConfirmationAnswer,
  messageIdIn,
  type StreamEnd,
} from '../../../../src/channel/event-stream.ts';
import { jsonObject } from '../../../../src/channel/json-object.ts';

/** Path for messages that are answered in the response. The daemon replaces it with WEBCHAT_WEBHOOK_PATH. */
const MESSAGE_PATH = '/webchat/message';
/**
 * Timeout of an answer in the response, in ms. It is longer than the time in the queue and AGENT_TIMEOUT_SECONDS
 * together.
 */
const ANSWER_WITHIN_MS = 120_000;
const START_WITHIN_MS = 15_000;

const JSON_TYPE = { 'Content-Type': 'application/json' };

interface AnswerRating {
  session_id: string | null;
  message_id: string | undefined;
  rating: 1 | -1;
  /** Empty if the visitor says nothing. */
  comment: string;
}

/** The content of a message. If the message is repeated, the content is the same, so that the service recognizes it. */
export interface Outgoing {
  /** `Idempotency-Key`: a message is answered only once, even if it is sent several times, or to both endpoints. */
  key: string;
  user_id: string;
  message: string;
  /** Null if the message begins a session. */
  session_id: string | null;
  metadata: Readonly<Record<string, string | ConfirmationAnswer>>;
}

export interface Answer extends Omit<StreamEnd, 'stopped'> {
  /** The question at the end of the response. */
  confirmation?: Confirmation | undefined;
  /** What was done. */
  actions?: unknown;
}

/**
 * The endpoints of the service (agentd-webchat(7), agentd-sse(7)). If a message cannot be sent or answered, `start` and
 * `ask` reject with a `Failure`.
 */
export class Service {
  readonly #base: string;

  /** @param base address of the service, without a slash at the end */
  constructor(base: string) {
    this.#base = base;
  }

  /** `POST /sse/chat`; resolves to the id of the stream. */
  async start(message: Outgoing, token: string | null, signal: AbortSignal): Promise<string> {
    const body = await this.#post('/sse/chat', START_WITHIN_MS, 'include', message, token, signal);
    if (typeof body.stream_id !== 'string') throw new Failure('other');
    return body.stream_id;
  }

  /** Address of the event stream. If events were already received, the address continues after the last of them. */
  streamAddress(stream_id: string, after: number): string {
    const query = after > 0 ? `&last_event_id=${after}` : '';
    return `${this.#base}/sse/stream/${encodeURIComponent(stream_id)}?details=tools${query}`;
  }

  /**
   * `DELETE /sse/stream/…`: stops the run. The text that has arrived is the answer. False if the service could not be
   * reached or refused the request.
   */
  stop(stream_id: string): Promise<boolean> {
    // If this fails, the caller leaves the stream, and the run ends by itself.
    return isDone(this.streamAddress(stream_id, 0), { method: 'DELETE', credentials: 'include' });
  }

  /**
   * Sends a message that is answered in the response, because streams do not work. It needs no cookie, so it sends
   * none.
   */
  async ask(message: Outgoing, token: string | null, signal: AbortSignal): Promise<Answer> {
    const body = await this.#post(MESSAGE_PATH, ANSWER_WITHIN_MS, 'omit', message, token, signal);
    if (typeof body.response !== 'string' || typeof body.session_id !== 'string') throw new Failure('other');
    const { confirmation, actions } = (body.metadata ?? {}) as Pick<Answer, 'confirmation' | 'actions'>;
    const { response, session_id } = body;
    return { response, session_id, ...messageIdIn(body.metadata), confirmation, actions };
  }

  /** `POST /feedback`: rates an answer. False if the service could not be reached or refused the rating. */
  rate({ comment, ...rating }: AnswerRating, token: string | null): Promise<boolean> {
    return isDone(`${this.#base}/feedback`, {
      method: 'POST',
      credentials: 'omit',
      headers: JSON_TYPE,
      body: JSON.stringify({ ...rating, ...(comment && { comment }), jwt_token: token }),
    });
  }

  /** Probes the service by requesting its script. The query differs each time, so that no cache answers. */
  isReachable(): Promise<boolean> {
    return isDone(`${this.#base}/webchat/widget.js?${Date.now()}`, {
      method: 'HEAD',
      cache: 'no-store',
      credentials: 'omit',
    });
  }

  async #post(
    path: string,
    within_ms: number,
    credentials: RequestCredentials,
    { key, ...message }: Outgoing,
    token: string | null,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.#base}${path}`, {
      method: 'POST',
      credentials,
      signal: AbortSignal.any([signal, AbortSignal.timeout(within_ms)]),
      headers: { ...JSON_TYPE, 'Idempotency-Key': key },
      // Null means "signed out". Without the field, an earlier token would remain in use.
      body: JSON.stringify({ ...message, jwt_token: token }),
    }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw unreachable();
    });
    const body = await readBody(response);
    if (response.ok) return body;
    // A gateway sent this response, so the service is unreachable. The service itself always sends a code.
    if (response.status > 501 && body.code === undefined) throw unreachable();
    const retryAfter = Number(response.headers.get('Retry-After')) || 0;
    throw toFailure(body, { status: response.status, retryAfter });
  }
}

/** Sends a request. False if the service could not be reached in time, or refused the request. */
async function isDone(address: string, options: RequestInit): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(START_WITHIN_MS);
    return (await fetch(address, { ...options, signal })).ok;
  } catch {
    return false;
  }
}

/** The error page of a proxy is not JSON. Its status is enough. */
async function readBody(response: Response): Promise<Readonly<Record<string, unknown>>> {
  return jsonObject(await response.text().catch(() => ''));
}

export interface FailureOptions {
  /** Seconds after which another attempt makes sense. */
  retryAfter?: number;
  /**
   * Set if the message was not and will not be answered. Another attempt then sends a new message. If this is not set,
   * another attempt repeats the request.
   */
  over?: boolean;
  /** Status of the response, if there was one. */
  status?: number;
}

/**
 * The service refused a message or could not answer it. `code` is the service's error code, the reason of its loop
 * guard (`repetition`, `turn_limit`), or `offline` or `unreachable` if there was no response.
 */
export class Failure extends Error {
  readonly code: string;
  readonly retryAfter: number;
  readonly over: boolean;
  readonly status: number;

  constructor(code: string, { retryAfter = 0, over = false, status = 0 }: FailureOptions = {}) {
    super(code);
    this.code = code;
    this.retryAfter = retryAfter;
    this.over = over;
    this.status = status;
  }
}

/** For requests without a response: there is no network, the host name is unknown, or the origin is not allowed. */
export function unreachable(): Failure {
  return new Failure(navigator.onLine ? 'unreachable' : 'offline');
}

/** Returns the failure that a problem document or an `error` event describes. */
export function toFailure(
  { code, reason }: { code?: unknown; reason?: unknown },
  options: FailureOptions,
): Failure {
  const guarded = code === 'loop_guard_blocked';
  // For the visitor, it does not matter whether the loop guard or the rate limit counted the messages.
  return new Failure(String(guarded ? (reason === 'rate_limit' ? 'rate_limited' : reason) : code), options);
}
