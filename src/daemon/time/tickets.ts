import { LiveMap } from './live-map.ts';
/** The position of a piece of work among all work with the same name, in the order in which the tickets were taken. */
export interface Ticket {
  /** Resolves when every earlier ticket has been released. Null if that has already happened. */
  readonly reached: Promise<void> | null;
  /** Releases the ticket, so that the next work may continue. */
  leave(): void;
}

/** Keeps work under the same name in order. A name takes memory only while it has tickets. */
export class Tickets {
  readonly #last = new LiveMap<string, QueuedTicket>();

  /** The number of names with tickets. */
  get size(): number {
    return this.#last.size;
  }

  /** A ticket that follows all earlier tickets of this name. */
  take(name: string): Ticket {
    const before = this.#last.get(name) ?? null;
    const ticket: QueuedTicket = new QueuedTicket(before, () => {
      if (this.#last.get(name) === ticket) this.#last.delete(name);
    });
    this.#last.set(name, ticket);
    return ticket;
  }

  /** Does work that has a position under several names. */
  async inOrder<T>(names: Iterable<string>, work: () => Promise<T>): Promise<T> {
    // All tickets are taken at once, so no two pieces of work can wait for each other.
    const tickets = [...new Set(names)].map((name) => this.take(name));
    try {
      for (const { reached } of tickets) if (reached) await reached;
      return await work();
    } finally {
      for (const ticket of tickets) ticket.leave();
    }
  }
}

/** A ticket that knows its neighbors. It makes a promise only if somebody waits for it. */
class QueuedTicket implements Ticket {
  /** The earlier ticket, until that one has passed. */
  #before: QueuedTicket | null;
  #after: QueuedTicket | null = null;
  #waiting: PromiseWithResolvers<void> | null = null;
  #hasLeft = false;
  readonly #passed: () => void;

  /** @param passed called when this ticket and every earlier one have been released */
  constructor(before: QueuedTicket | null, passed: () => void) {
    this.#before = before;
    if (before) before.#after = this;
    this.#passed = passed;
  }

  get reached(): Promise<void> | null {
    if (this.#before === null) return null;
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  leave(): void {
    this.#hasLeft = true;
    // If this work ends early, the next work must still wait for everything before it.
    if (this.#before === null) this.#pass();
  }

  #pass(): void {
    this.#passed();
    for (let next = this.#after; next !== null; next = next.#after) {
      next.#before = null;
      next.#waiting?.resolve();
      if (!next.#hasLeft) return;
      next.#passed();
    }
  }
}
