import { jsonObject } from '../../../../src/channel/json-object.ts';
import { Failure, failureOf, unreachable } from './failure.ts';

/** Path of the synchronous message; the daemon puts its own in where WEBCHAT_WEBHOOK_PATH says otherwise. */
const MESSAGE_PATH = '/webchat/message';
/** What an answer in one piece may take: longer than AGENT_TIMEOUT_SECONDS and the queue before it, ms. */
const ANSWER_WITHIN_MS = 120_000;
const START_WITHIN_MS = 15_000;

/** A message as it goes out; a repeat carries the very same, so that it is recognised. */
export interface Outgoing {
  /** `Idempotency-Key`: one message is answered once, whichever way and how often it is sent. */
  key: string;
  user_id: string;
  message: string;
  /** Null begins a session. */
  session_id: string | null;
  metadata: Readonly<Record<string, string>>;
}

export interface Answer {
  response: string;
  session_id: string;
}

/** The endpoints of the service (service.md, "Endpoints"). Every call rejects with a `Failure`. */
export class Service {
  readonly #base: string;

  /** @param base address of the service, without a slash at the end */
  constructor(base: string) {
    this.#base = base;
  }

  /** `POST /sse/chat`; resolves to the stream's id. */
  async start(message: Outgoing, token: string | null, signal: AbortSignal): Promise<string> {
    const body = await this.#post('/sse/chat', START_WITHIN_MS, 'include', message, token, signal);
    if (typeof body.stream_id !== 'string') throw new Failure('other');
    return body.stream_id;
  }

  /** Address of the event stream, after an event where one was seen. */
  streamAddress(stream_id: string, after: number): string {
    const query = after > 0 ? `?last_event_id=${after}` : '';
    return `${this.#base}/sse/stream/${encodeURIComponent(stream_id)}${query}`;
  }

  /** `DELETE /sse/stream/…`: the run ends with what was said so far. False where that could not be told. */
  async stop(stream_id: string): Promise<boolean> {
    try {
      const response = await fetch(this.streamAddress(stream_id, 0), {
        method: 'DELETE',
        credentials: 'include',
      });
      return response.ok;
    } catch {
      // Out of reach: the caller leaves the stream, and the run ends by itself.
      return false;
    }
  }

  /** The message in one piece, for where streams do not get through. Needs no cookie, so it sends none. */
  async ask(message: Outgoing, token: string | null, signal: AbortSignal): Promise<Answer> {
    const body = await this.#post(MESSAGE_PATH, ANSWER_WITHIN_MS, 'omit', message, token, signal);
    if (typeof body.response !== 'string' || typeof body.session_id !== 'string') throw new Failure('other');
    return { response: body.response, session_id: body.session_id };
  }

  /** Is the service there? Asked of the script's own address, new each time so that no cache answers. */
  async isReachable(): Promise<boolean> {
    try {
      const response = await fetch(`${this.#base}/webchat/widget.js?${Date.now()}`, {
        method: 'HEAD',
        cache: 'no-store',
        credentials: 'omit',
        signal: AbortSignal.timeout(START_WITHIN_MS),
      });
      return response.ok;
    } catch {
      return false;
    }
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
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      // Null says "signed out" in so many words; a token left out would leave an earlier one in use.
      body: JSON.stringify({ ...message, jwt_token: token }),
    }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw unreachable();
    });
    const body = await bodyOf(response);
    if (response.ok) return body;
    // A gateway speaks for a service that is away; the service itself always gives a code.
    if (response.status > 501 && body.code === undefined) throw unreachable();
    const retryAfter = Number(response.headers.get('Retry-After')) || 0;
    throw failureOf(body, { status: response.status, retryAfter });
  }
}

/** The error page of a proxy is not JSON; its status says enough. */
async function bodyOf(response: Response): Promise<Readonly<Record<string, unknown>>> {
  return jsonObject(await response.text().catch(() => ''));
}
