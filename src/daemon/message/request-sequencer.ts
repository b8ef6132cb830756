import type { ChannelRequest, Route } from '../../channel/index.ts';

/** The place of a request among those of its thread, in order of their arrival. */
export interface Ticket {
  /** Resolves when every request that arrived before it has left. */
  readonly reached: Promise<void>;
  /** It waits for its session's lock now, or has ended: the next one may go on. */
  leave(): void;
}

/**
 * Keeps the order of arrival for requests of one thread up to the session's lock: the work before it, such as the check
 * of a token, takes longer for one request than for the next. A thread takes memory only while it has such requests.
 */
export class RequestSequencer {
  /** Resolves when the last request of each thread has left. */
  readonly #last = new Map<string, Promise<void>>();

  /** Threads with requests on their way. */
  get size(): number {
    return this.#last.size;
  }

  /** Called as soon as the request has arrived whole. Null if it names no thread. */
  ticketOf(route: Pick<Route, 'thread'>, request: ChannelRequest): Ticket | null {
    const thread = threadOf(route, request);
    return thread === null ? null : this.ticketIn(thread);
  }

  /** A ticket behind all requests that are on their way in this thread now. */
  ticketIn(thread: string): Ticket {
    const reached = this.#last.get(thread) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    // One that ends early does not let the next pass those before it.
    const passed = reached.then(() => left);
    this.#last.set(thread, passed);
    void passed.then(() => {
      if (this.#last.get(thread) === passed) this.#last.delete(thread);
    });
    return { reached, leave };
  }
}

/** A body that cannot be read names no thread; the handler meets the same error, and that one is answered. */
function threadOf(route: Pick<Route, 'thread'>, request: ChannelRequest): string | null {
  try {
    return route.thread?.(request) ?? null;
  } catch {
    return null;
  }
}
