import type { AlarmClock } from './clock.ts';
import { onAbort } from './on-abort.ts';

/** Ends work when its time has passed, or when one of the given signals aborts. */
export class TimeLimit {
  /** When the time has passed, ms since the epoch. */
  readonly deadline: number;
  /** Made when it is asked for: a signal and its listeners cost a good part of a request. */
  #controller: AbortController | null = null;
  readonly #release: readonly (() => void)[];
  readonly #listeners = new Set<(reason: unknown) => void>();
  #ended: { reason: unknown } | null = null;
  #passed = false;

  /** @param others also end the work, with their own reason. */
  constructor(clock: AlarmClock, ms: number, ...others: readonly AbortSignal[]) {
    this.deadline = clock.now() + ms;
    const cancel = clock.after(ms, () => {
      this.#passed = true;
      this.#end(new DOMException(`it took longer than ${ms / 1000} seconds`, 'TimeoutError'));
    });
    const noMore = others.map((other) => onAbort(other, () => this.#end(other.reason)));
    this.#release = [cancel, ...noMore];
    const aborted = others.find((other) => other.aborted);
    if (aborted) this.#end(aborted.reason);
  }

  /** Aborts when the time has passed, or with the first of the other signals. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  /** The time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  /**
   * Calls back when the limit ends the work, at once if it has ended it before. Costs less than a listener of `signal`.
   * @returns takes the listener away.
   */
  onEnd(listener: (reason: unknown) => void): () => void {
    if (this.#ended) listener(this.#ended.reason);
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The work, or a rejection as soon as the limit ends it: work that ignores `signal` holds nobody up. */
  async within<T>(work: Promise<T>): Promise<T> {
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const forget = this.onEnd(reject);
    try {
      return await Promise.race([work, ended]);
    } finally {
      forget();
    }
  }

  /** To be called when the work is over. */
  lift(): void {
    for (const release of this.#release) release();
  }

  #end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = { reason };
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
  }
}
