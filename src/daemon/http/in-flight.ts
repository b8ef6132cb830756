import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AgentdError } from '../errors.ts';
import { discard } from './body.ts';
import type { Middleware } from './exchange.ts';

/** How long a caller should wait, in seconds, until another daemon takes over or this daemon has restarted. */
const RETRY_AFTER = 5;

/** The requests that are being answered. A stopping daemon waits for them and accepts no more. */
export class InFlight {
  readonly #responses = new Set<ServerResponse>();
  #retiring = false;
  #draining = false;
  #onEmpty: (() => void) | null = null;

  /** Counts a request until it is answered or its client has disconnected. */
  add(response: ServerResponse): void {
    this.#responses.add(response);
    if (this.#retiring) response.setHeader('Connection', 'close');
    response.on('close', () => {
      this.#responses.delete(response);
      if (this.#responses.size === 0) this.#onEmpty?.();
    });
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on each response ends its connection, so that a proxy keeps no connection for further requests. */
  retire(): void {
    if (this.#retiring) return;
    this.#retiring = true;
    for (const response of this.#responses) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
      // The headers did not say that the connection ends, so the client may send another request on it.
      else response.once('finish', () => response.req.socket.destroySoon());
    }
  }

  /** From now on new requests are refused. */
  drain(): void {
    this.#draining = true;
    this.retire();
  }

  /** Resolves to true when all requests have ended, or to false after `ms`. */
  ended(ms: number): Promise<boolean> {
    if (this.#responses.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms, false);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Whether a response on this connection has begun to be sent. */
  isAnswering(socket: Socket): boolean {
    return [...this.#responses].some((response) => response.socket === socket && response.headersSent);
  }
}

/**
 * Lets requests through until the daemon stops. Then they get 503, even on new connections, and readers of streams lose
 * their connection.
 */
export function admit(inFlight: InFlight): Middleware {
  return async (ctx, next) => {
    if (!inFlight.draining) {
      inFlight.add(ctx.res);
      await next();
      return;
    }
    // After a refusal, the reader of a stream (EventSource) would not reconnect; after a lost connection it does.
    if (ctx.req.headers.accept?.includes('text/event-stream')) {
      ctx.respond = false;
      ctx.res.destroy();
      return;
    }
    // The connection is closed after the answer. The rest of the request is read first, so that the answer is not lost.
    discard(ctx.req);
    if (!ctx.req.closed) await once(ctx.req, 'close');
    ctx.set('Connection', 'close');
    throw new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: RETRY_AFTER });
  };
}
