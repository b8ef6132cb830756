/**
 * Ends work early, like an AbortController. Its signal and its reason are made only if somebody asks for them: a signal
 * with its listeners, and an error with its stack, are a large part of the cost of a message, and most messages need
 * neither.
 */
export class Cancellation {
  #controller: AbortController | null = null;
  /** A list and no set, which would need four times the memory: most work has one listener or two. */
  #listeners: readonly ((reason: unknown) => void)[] = NONE;
  #ended: Reason | null = null;

  /** Aborts when the work is ended. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended());
    }
    return this.#controller.signal;
  }

  /** Whether the work was ended, for any reason. */
  get hasEnded(): boolean {
    return this.#ended !== null;
  }

  throwIfEnded(): void {
    if (this.#ended) throw this.#ended();
  }

  /**
   * Calls `listener` when the work is ended, or at once if it has already been.
   * @returns a function that removes the listener.
   */
  onEnd(listener: (reason: unknown) => void): () => void {
    if (this.#ended) {
      listener(this.#ended());
      return () => {};
    }
    this.#listeners = this.#listeners.concat(listener);
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    };
  }

  /** The result of the work, or a rejection as soon as it is ended, even if the work ignores `signal`. */
  within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onEnd(reject);
      work.then(
        (value) => {
          forget();
          resolve(value);
        },
        (error: unknown) => {
          forget();
          reject(error);
        },
      );
    });
  }

  /** Ends the work for this reason, unless it was ended before. @param getReason called only if somebody is told */
  end(getReason: Reason): void {
    if (this.#ended) return;
    this.#ended = once(getReason);
    this.#controller?.abort(this.#ended());
    for (const listener of this.#listeners) listener(this.#ended());
  }
}

const NONE: readonly never[] = [];

/** Why the work was ended: always the same value. */
type Reason = () => unknown;

/** Makes the value when it is first asked for. */
function once(getReason: Reason): Reason {
  let made: { reason: unknown } | null = null;
  return () => {
    made ??= { reason: getReason() };
    return made.reason;
  };
}
