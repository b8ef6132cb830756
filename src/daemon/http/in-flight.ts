import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AgentdError } from '../errors.ts';
import { discard } from './body.ts';
import type { Middleware } from './exchange.ts';

/** What a caller is told to wait, in seconds, while another daemon takes over or this one comes back. */
const RETRY_AFTER = 5;

/** The requests that are being answered, so that a stopping daemon can wait for them, and take no more. */
export class InFlight {
  readonly #responses = new Set<ServerResponse>();
  #retiring = false;
  #draining = false;
  #onEmpty: (() => void) | null = null;

  /** Counts a request until it is answered or its client has gone. */
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

  /** From now on each response ends its connection: a proxy keeps none that it could send the next request on. */
  retire(): void {
    if (this.#retiring) return;
    this.#retiring = true;
    for (const response of this.#responses) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
      // Its client believes that it may send another request on this connection.
      else response.once('finish', () => response.req.socket.destroySoon());
    }
  }

  /** From now on new requests are refused. */
  drain(): void {
    this.#draining = true;
    this.retire();
  }

  /** True when all have ended, false when `ms` have passed before. */
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

  /** A response on this connection has begun to leave. */
  isAnswering(socket: Socket): boolean {
    return [...this.#responses].some((response) => response.socket === socket && response.headersSent);
  }
}

/**
 * Lets requests through while the daemon is not stopping; later they get 503, on new connections too, and
 * readers of streams lose their connection.
 */
export function admit(inFlight: InFlight): Middleware {
  return async (ctx, next) => {
    if (!inFlight.draining) {
      inFlight.add(ctx.res);
      await next();
      return;
    }
    // A refusal would keep the reader of a stream (EventSource) from coming again; a lost connection does not.
    if (ctx.req.headers.accept?.includes('text/event-stream')) {
      ctx.respond = false;
      ctx.res.destroy();
      return;
    }
    // Its connection closes with the answer, so all of it is taken in before.
    discard(ctx.req);
    if (!ctx.req.closed) await once(ctx.req, 'close');
    ctx.set('Connection', 'close');
    throw new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: RETRY_AFTER });
  };
}
