import type { ChannelRequest, Route } from '../../channel/index.ts';

/** The place of a request among those of its thread, in order of their arrival. */
export interface Ticket {
  /** Resolves when every earlier request has released its ticket. */
  readonly reached: Promise<void>;
  /** Releases the ticket: the request now waits for its session's lock, or has ended, so the next one may continue. */
  leave(): void;
}

/**
 * Keeps the order of arrival for requests of one thread up to the session's lock: the work before it, such as the check
 * of a token, takes longer for one request than for the next. A thread takes memory only while it has such requests.
 */
export class RequestSequencer {
  /** For each thread, resolves when its last request has released its ticket. */
  readonly #last = new Map<string, Promise<void>>();

  /** The number of threads with waiting requests. */
  get size(): number {
    return this.#last.size;
  }

  /** Called as soon as the complete request has arrived. Null if it names no thread. */
  ticketOf(route: Pick<Route, 'thread'>, request: ChannelRequest): Ticket | null {
    const thread = threadOf(route, request);
    return thread === null ? null : this.ticketIn(thread);
  }

  /** A ticket after those of all earlier requests of this thread. */
  ticketIn(thread: string): Ticket {
    const reached = this.#last.get(thread) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    // If this request ends early, the next one must still wait for the requests before it.
    const passed = reached.then(() => left);
    this.#last.set(thread, passed);
    void passed.then(() => {
      if (this.#last.get(thread) === passed) this.#last.delete(thread);
    });
    return { reached, leave };
  }
}

/** A body that cannot be read names no thread; the handler gets the same error and reports it. */
function threadOf(route: Pick<Route, 'thread'>, request: ChannelRequest): string | null {
  try {
    return route.thread?.(request) ?? null;
  } catch {
    return null;
  }
}
