import type { ChannelRequest, Route } from '../../channel/index.ts';

/** The position of a request among the requests of its thread, in the order of arrival. */
export interface Ticket {
  /** Resolves when every earlier request has released its ticket. */
  readonly reached: Promise<void>;
  /**
   * Releases the ticket, so that the next request may continue. Called when the request waits for its session's lock,
   * or has ended.
   */
  leave(): void;
}

/**
 * Keeps the requests of one thread in the order of arrival until they wait for the session's lock. Without it, a
 * request could overtake an earlier one, because the work before the lock, such as the check of a token, takes longer
 * for some requests. A thread takes memory only while it has such requests.
 */
export class RequestSequencer {
  /** For each thread, resolves when the last request has released its ticket. */
  readonly #last = new Map<string, Promise<void>>();

  /** The number of threads with waiting requests. */
  get size(): number {
    return this.#last.size;
  }

  /** Called as soon as the complete request has arrived. Null if the request names no thread. */
  ticketOf(route: Pick<Route, 'thread'>, request: ChannelRequest): Ticket | null {
    const thread = threadOf(route, request);
    return thread === null ? null : this.ticketIn(thread);
  }

  /** A ticket that follows those of all earlier requests of this thread. */
  ticketIn(thread: string): Ticket {
    const reached = this.#last.get(thread) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    // If this request ends early, the next one must still wait for all requests before it.
    const passed = reached.then(() => left);
    this.#last.set(thread, passed);
    void passed.then(() => {
      if (this.#last.get(thread) === passed) this.#last.delete(thread);
    });
    return { reached, leave };
  }
}

/**
 * The thread that the request names; null if it names none, or if its body cannot be read. In the latter case, the
 * handler gets the same error and reports it.
 */
function threadOf(route: Pick<Route, 'thread'>, request: ChannelRequest): string | null {
  try {
    return route.thread?.(request) ?? null;
  } catch {
    return null;
  }
}
