import { LiveMap } from './live-map.ts';
/** The position of a piece of work among all work with the same name, in the order in which the tickets were taken. */
export interface Ticket {
  /** Resolves when every earlier ticket has been released. Null if there was none. */
  readonly reached: Promise<void> | null;
  /** Releases the ticket, so that the next work may continue. */
  leave(): void;
}

/** Keeps work under the same name in order. A name takes memory only while it has tickets. */
export class Tickets {
  /** By name: resolves when every ticket has been released. */
  readonly #last = new LiveMap<string, Promise<void>>();

  /** The number of names with tickets. */
  get size(): number {
    return this.#last.size;
  }

  /** A ticket that follows all earlier tickets of this name. */
  take(name: string): Ticket {
    const reached = this.#last.get(name) ?? null;
    const { promise, resolve } = Promise.withResolvers<void>();
    // If this work ends early, the next work must still wait for everything before it.
    const passed: Promise<void> = Promise.all([reached, promise]).then(() => {
      if (this.#last.get(name) === passed) this.#last.delete(name);
    });
    this.#last.set(name, passed);
    return { reached, leave: resolve };
  }
}
