/**
 * A queue of events from a run to its only reader. The run never waits for the reader. The queue is limited by the
 * maximum length of a reply. If the reader stops reading, the queue is garbage-collected after the run.
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

  /** Makes the reader's iteration throw this error after the events that are already in the queue. */
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
