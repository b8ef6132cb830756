import type { ChannelRequest, Route } from '../../channel/index.ts';
import { ReceivedRequest } from './request.ts';

/** The place of a request among those that speak in its thread, in order of their arrival. */
export interface Place {
  /** Resolves when all that arrived before it have left. */
  readonly reached: Promise<void>;
  /** It stands in its session's line now, or has ended: the next may go. */
  leave(): void;
}

/** The place that a request took, if it names a thread. */
export function placeOf(request: ChannelRequest): Place | undefined {
  return request instanceof ReceivedRequest ? request.place : undefined;
}

/**
 * Keeps the order of arrival for requests of one thread up to their session's line (decisions §3): what is
 * looked up before, such as whose token it is, takes longer for one than for the next. A thread takes memory
 * only while requests of it are on that way.
 */
export class Arrivals {
  /** Resolves when the last one of each thread has left. */
  readonly #last = new Map<string, Promise<void>>();

  /** Threads with requests on their way. */
  get size(): number {
    return this.#last.size;
  }

  /** Called as soon as the request has arrived whole. */
  takePlace(route: Route, request: ChannelRequest): Place | undefined {
    const thread = threadOf(route, request);
    if (thread === null) return undefined;
    return this.placeIn(thread);
  }

  /** The place behind all that are on their way in this thread now. */
  placeIn(thread: string): Place {
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
function threadOf(route: Route, request: ChannelRequest): string | null {
  try {
    return route.thread?.(request) ?? null;
  } catch {
    return null;
  }
}
