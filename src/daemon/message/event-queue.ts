/**
 * Events from a run to its one reader. The run never waits: what is said is bounded by the reply, so the
 * queue is too. A reader that stops reading leaves it to be collected.
 */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #events: T[] = [];
  #end: { error?: unknown } | null = null;
  #wake: (() => void) | null = null;

  push(event: T): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#end = {};
    this.#wake?.();
  }

  /** The reader's next step throws it, after the events that came before. */
  fail(error: unknown): void {
    this.#end = { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) yield event;
      else if (this.#end === null) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if ('error' in this.#end) throw this.#end.error;
      else return;
    }
  }
}
