import type { ChannelRequest, Route } from '../../../channel/index.ts';
import { type Ticket, Tickets } from '../../time/tickets.ts';

/**
 * Keeps the requests of one thread in the order of arrival until they wait for the session's lock. Otherwise, a request
 * could overtake an earlier one, because the work before the lock, such as the check of a token, takes longer for some
 * requests. A request releases its ticket when it waits for its session's lock, or has ended.
 */
export class RequestSequencer {
  readonly #tickets = new Tickets();

  /** The number of threads with waiting requests. */
  get size(): number {
    return this.#tickets.size;
  }

  /** Called as soon as the complete request has arrived. Null if the request names no thread. */
  issueTicket(route: Pick<Route, 'thread'>, request: ChannelRequest): Ticket | null {
    const thread = readThread(route, request);
    return thread === null ? null : this.ticketIn(thread);
  }

  /** A ticket that follows the tickets of all earlier requests of this thread. */
  ticketIn(thread: string): Ticket {
    return this.#tickets.take(thread);
  }
}

/**
 * The thread that the request names; null if it names none, or if its body cannot be read. If the body cannot be read,
 * the handler gets the same error and reports it.
 */
function readThread(route: Pick<Route, 'thread'>, request: ChannelRequest): string | null {
  try {
    return route.thread?.(request) ?? null;
  } catch {
    return null;
  }
}
