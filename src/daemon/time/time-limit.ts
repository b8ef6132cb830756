import type { AlarmClock } from './clock.ts';
import { onAbort } from './on-abort.ts';

/** Ends work when its time has passed, or when one of the given signals aborts. */
export class TimeLimit {
  readonly #clock: AlarmClock;
  readonly #ms: number;
  readonly #began_at: number;
  #deadline: number;
  #cancel: () => void;
  /** Created on demand: a signal and its listeners are a large part of the cost of a request. */
  #controller: AbortController | null = null;
  readonly #release: readonly (() => void)[];
  readonly #listeners = new Set<(reason: unknown) => void>();
  readonly #own: readonly AbortSignal[];
  #ended: { reason: unknown } | null = null;
  #passed = false;

  /**
   * @param others signals that also end the work, with their own reason
   * @param own like `others`, for signals with few other listeners
   */
  constructor(
    clock: AlarmClock,
    ms: number,
    others: readonly AbortSignal[] = [],
    own: readonly AbortSignal[] = [],
  ) {
    this.#clock = clock;
    this.#ms = ms;
    this.#began_at = clock.now();
    this.#deadline = this.#began_at + ms;
    this.#cancel = this.#passAfter(ms);
    this.#release = others.map((other) => onAbort(other, () => this.#end(other.reason)));
    this.#own = own;
    for (const signal of own) signal.addEventListener('abort', this, { once: true });
    const aborted = [...others, ...own].find((other) => other.aborted);
    if (aborted) this.#end(aborted.reason);
  }

  /** When the time has passed, ms since the epoch. */
  get deadline(): number {
    return this.#deadline;
  }

  /**
   * Starts the time again, because the work makes progress.
   * @param longest how long the work may take in all, ms. A limit beyond that is not shortened.
   */
  restart(longest: number): void {
    const now = this.#clock.now();
    const deadline = Math.min(now + this.#ms, this.#began_at + longest);
    if (this.#ended || deadline <= this.#deadline) return;
    this.#cancel();
    this.#deadline = deadline;
    this.#cancel = this.#passAfter(deadline - now);
  }

  /** Aborts when the time has passed, or with the first of the other signals. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  /** Whether the time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  /**
   * Calls `listener` when the limit ends the work, or at once if it has already done so. Costs less than a listener of
   * `signal`.
   * @returns a function that removes the listener.
   */
  onEnd(listener: (reason: unknown) => void): () => void {
    if (this.#ended) listener(this.#ended.reason);
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The result of the work, or a rejection as soon as the limit ends it, even if the work ignores `signal`. */
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

  /** Ends the work for this reason, unless it was ended before. */
  end(reason: unknown): void {
    this.#end(reason);
  }

  /** Call this when the work has ended. */
  lift(): void {
    this.#cancel();
    for (const release of this.#release) release();
    for (const signal of this.#own) signal.removeEventListener('abort', this);
  }

  /** Called when a signal of `own` aborts. */
  handleEvent({ target }: Event): void {
    this.#end((target as AbortSignal).reason);
  }

  #passAfter(ms: number): () => void {
    return this.#clock.after(ms, () => {
      this.#passed = true;
      const seconds = (this.#deadline - this.#began_at) / 1000;
      this.#end(new DOMException(`it took longer than ${seconds} seconds`, 'TimeoutError'));
    });
  }

  #end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = { reason };
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
  }
}
