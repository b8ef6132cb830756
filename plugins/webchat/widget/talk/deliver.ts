import type { StreamEnd } from '../../../../src/channel/event-stream.ts';
import { Failure } from './failure.ts';
import { passed } from './passed.ts';
import type { Outgoing, Service } from './service.ts';
import { readStream, StreamBroken, type StreamListener } from './stream.ts';

/** Where a message stands, so that it can be gone on with after a page load. */
export interface Pending extends Outgoing {
  /** Null until the service has named the stream. */
  stream_id: string | null;
  /** Number of the last event that was taken. */
  after: number;
}

export interface DeliveryListener extends StreamListener {
  /** The message has a stream from now on; it can be stopped there. */
  opened(stream_id: string): void;
}

/** Waits while the first request for the message is still running, ms; then every 8 s. */
const WAITS_MS = [1000, 2000, 4000, 8000];
/** How often it is asked for, at most. */
const MAX_ASKS = 15;

/**
 * Brings a message to the service and its answer back: over an event stream where that gets through, else in
 * one piece. Both ways carry the same Idempotency-Key, so nothing runs twice.
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
      return this.#inOnePiece(message, token, signal);
    };
    if (!this.#streaming && stream_id === null) return inOnePiece();
    const streamed = await this.#stream(pending, token, listener, signal);
    if (streamed !== 'never' && streamed !== 'broken') return streamed;
    const answer = await inOnePiece();
    // One piece gets through where no stream does, so the next message need not try.
    if (streamed === 'never') this.#streaming = false;
    return answer;
  }

  stop(stream_id: string): Promise<boolean> {
    return this.#service.stop(stream_id);
  }

  isReachable(): Promise<boolean> {
    return this.#service.isReachable();
  }

  /** `never`, `broken`: the answer must be asked for in one piece; streams do not get through, or this one. */
  async #stream(
    { stream_id, after, ...message }: Pending,
    token: string | null,
    listener: DeliveryListener,
    signal: AbortSignal,
  ): Promise<StreamEnd | 'never' | 'broken'> {
    const giveTurnBack = stream_id === null ? await takeTurn(signal) : () => undefined;
    try {
      const id = stream_id ?? (await this.#service.start(message, token, signal));
      listener.opened(id);
      const first: StreamListener = {
        ...listener,
        connected(yes) {
          giveTurnBack();
          listener.connected(yes);
        },
      };
      return await readStream((last) => this.#service.streamAddress(id, last), after, first, signal);
    } catch (error) {
      if (error instanceof StreamBroken) return error.silent ? 'never' : 'broken';
      // Not there, or out of reach: across origins a browser tells no more of a path that is not served.
      if (error instanceof Failure && cannotStream(error))
        return error.code === 'offline' ? 'broken' : 'never';
      throw error;
    } finally {
      giveTurnBack();
    }
  }

  async #inOnePiece(message: Outgoing, token: string | null, signal: AbortSignal): Promise<StreamEnd> {
    for (let asks = 0; ; asks++) {
      try {
        return { ...(await this.#service.ask(message, token, signal)), stopped: false };
      } catch (error) {
        const running = error instanceof Failure && error.status === 409;
        if (!running || asks === MAX_ASKS) throw error;
        await passed(WAITS_MS[asks] ?? 8000);
        signal.throwIfAborted();
      }
    }
  }
}

function cannotStream({ status, code }: Failure): boolean {
  return status === 404 || status === 405 || code === 'unreachable' || code === 'offline';
}

const TURN = 'agentd-webchat-start';

/**
 * Resolves to what gives the turn back. Tabs take turns from the start of a stream to its first event: the
 * token travels in a cookie, which all tabs of a browser share, and must not be another tab's by then. Pages
 * without a secure origin have no locks, and no such cookie either.
 */
function takeTurn(signal: AbortSignal): Promise<() => void> {
  if (!('locks' in navigator)) return Promise.resolve(() => undefined);
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((release) => resolve(release));
    navigator.locks.request(TURN, { signal }, hold).catch(reject);
  });
}
