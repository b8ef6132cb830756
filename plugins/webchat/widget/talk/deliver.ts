import type { StreamEnd } from '../../../../src/channel/event-stream.ts';
import { type Kept, randomId } from './memory.ts';
import { Failure, type Outgoing, type Service } from './service.ts';
import { readStream, StreamBroken, type StreamListener } from './stream.ts';
import { wait } from './token.ts';

/** The progress of a message. With it, delivery can continue after a page load. */
export interface Pending extends Outgoing {
  /** Null until the service has named the stream. */
  stream_id: string | null;
  /** Number of the last event that was received. */
  after: number;
}

/** A message that was not sent yet. */
export function newPending(
  { user_id, session_id }: Kept,
  message: string,
  metadata: Outgoing['metadata'],
): Pending {
  return { key: randomId(), user_id, message, session_id, metadata, stream_id: null, after: 0 };
}

export interface DeliveryListener extends StreamListener {
  /** Called when the message has a stream. Its answer can then be stopped. */
  opened(stream_id: string): void;
}

/**
 * How long to wait between requests while the first request for the message is still running, in ms. All later waits
 * are 8 s.
 */
const WAITS_MS = [1000, 2000, 4000, 8000];
/** Maximum number of times that the request for a running message is repeated. */
const MAX_ASKS = 15;

/**
 * Sends a message to the service and receives its answer: on an event stream if streams work, else in one response.
 * Both ways use the same Idempotency-Key, so nothing runs twice.
 */
export class Delivery {
  readonly #service: Service;
  #streaming = true;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Rejects with a `Failure`, or with the signal's reason. */
  async send(
    pending: Pending,
    token: string | null,
    listener: DeliveryListener,
    signal: AbortSignal,
  ): Promise<StreamEnd> {
    const { stream_id, after: _after, ...message } = pending;
    const inOnePiece = () => {
      listener.connected(true);
      return this.#inOnePiece(message, token, listener, signal);
    };
    if (!this.#streaming && stream_id === null) return inOnePiece();
    const streamed = await this.#stream(pending, token, listener, signal);
    if (streamed !== 'never' && streamed !== 'broken') return streamed;
    const answer = await inOnePiece();
    // One response worked, but the stream did not, so later messages do not try a stream.
    if (streamed === 'never') this.#streaming = false;
    return answer;
  }

  /**
   * Returns `never` if streams do not work, and `broken` if this stream broke. In both cases, the answer must be
   * requested in one response.
   */
  async #stream(
    { stream_id, after, ...message }: Pending,
    token: string | null,
    listener: DeliveryListener,
    signal: AbortSignal,
  ): Promise<StreamEnd | 'never' | 'broken'> {
    const unlock = stream_id === null ? await lockStart(signal) : () => undefined;
    try {
      const id = stream_id ?? (await this.#service.start(message, token, signal));
      listener.opened(id);
      const first: StreamListener = {
        ...listener,
        connected(yes) {
          unlock();
          listener.connected(yes);
        },
      };
      return await readStream((last) => this.#service.streamAddress(id, last), after, first, signal);
    } catch (error) {
      if (error instanceof StreamBroken) return error.silent ? 'never' : 'broken';
      // The route is missing, or the service is unreachable. Across origins, a browser does not distinguish between the
      // two.
      if (error instanceof Failure && cannotStream(error))
        return error.code === 'offline' ? 'broken' : 'never';
      throw error;
    } finally {
      unlock();
    }
  }

  async #inOnePiece(
    message: Outgoing,
    token: string | null,
    listener: DeliveryListener,
    signal: AbortSignal,
  ): Promise<StreamEnd> {
    for (let asks = 0; ; asks++) {
      try {
        const { confirmation, actions, ...answer } = await this.#service.ask(message, token, signal);
        if (confirmation) listener.confirmation?.(confirmation.id, { ...confirmation });
        if (actions) listener.actions?.({ actions });
        return { ...answer, stopped: false };
      } catch (error) {
        const running = error instanceof Failure && error.code === 'duplicate_in_progress';
        if (!running || asks === MAX_ASKS) throw error;
        await wait(WAITS_MS[asks] ?? 8000);
        signal.throwIfAborted();
      }
    }
  }
}

function cannotStream({ status, code }: Failure): boolean {
  return status === 404 || status === 405 || code === 'unreachable' || code === 'offline';
}

const START_LOCK = 'agentd-webchat-start';

/**
 * Acquires a lock, and resolves to a function that releases it. Only one tab at a time may be between the start of a
 * stream and its first event, because the token is in a cookie that all tabs share. Pages without a secure origin have
 * no locks. They do not need them, because the cookie does not exist there.
 */
function lockStart(signal: AbortSignal): Promise<() => void> {
  if (!('locks' in navigator)) return Promise.resolve(() => undefined);
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((release) => resolve(release));
    navigator.locks.request(START_LOCK, { signal }, hold).catch(reject);
  });
}
