/** The position of a piece of work among all work with the same name, in the order in which the tickets were taken. */
export interface Ticket {
  /** Resolves when every earlier ticket has been released. */
  readonly reached: Promise<void>;
  /** Releases the ticket, so that the next work may continue. */
  leave(): void;
}

/** Keeps work under the same name in order. A name takes memory only while it has tickets. */
export class Tickets {
  /** For each name, resolves when the last ticket has been released. */
  readonly #last = new Map<string, Promise<void>>();

  /** The number of names with tickets. */
  get size(): number {
    return this.#last.size;
  }

  /** A ticket that follows all earlier tickets of this name. */
  take(name: string): Ticket {
    const reached = this.#last.get(name) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    // If this work ends early, the next work must still wait for everything before it.
    const passed = reached.then(() => left);
    this.#last.set(name, passed);
    void passed.then(() => {
      if (this.#last.get(name) === passed) this.#last.delete(name);
    });
    return { reached, leave };
  }

  /** Does work that has a position under several names. */
  async inOrder<T>(names: Iterable<string>, work: () => Promise<T>): Promise<T> {
    // All tickets are taken at once, so no two pieces of work can wait for each other.
    const tickets = [...new Set(names)].map((name) => this.take(name));
    try {
      await Promise.all(tickets.map(({ reached }) => reached));
      return await work();
    } finally {
      for (const ticket of tickets) ticket.leave();
    }
  }
}
