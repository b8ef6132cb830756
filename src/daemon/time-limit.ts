import type { AlarmClock } from './clock.ts';
import { onAbort } from './on-abort.ts';

/** Ends work when its time has passed, or when one of the given signals aborts. */
export class TimeLimit {
  /** When the time has passed, ms since the epoch. */
  readonly deadline: number;
  readonly #end = new AbortController();
  readonly #release: readonly (() => void)[];
  readonly #waiting = new Set<(reason: unknown) => void>();
  #passed = false;

  /** @param others also end the work, with their own reason. */
  constructor(clock: AlarmClock, ms: number, ...others: readonly AbortSignal[]) {
    this.deadline = clock.now() + ms;
    const cancel = clock.after(ms, () => {
      this.#passed = true;
      this.#abort(new DOMException(`it took longer than ${ms / 1000} seconds`, 'TimeoutError'));
    });
    const noMore = others.map((other) => onAbort(other, () => this.#abort(other.reason)));
    this.#release = [cancel, ...noMore];
    const aborted = others.find((other) => other.aborted);
    if (aborted) this.#abort(aborted.reason);
  }

  /** Aborts when the time has passed, or with the first of the other signals. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  /** The work, or a rejection as soon as the limit ends it: work that ignores `signal` holds nobody up. */
  async within<T>(work: Promise<T>): Promise<T> {
    const { promise: ended, reject } = Promise.withResolvers<never>();
    if (this.signal.aborted) reject(this.signal.reason);
    this.#waiting.add(reject);
    try {
      return await Promise.race([work, ended]);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** To be called when the work is over. */
  lift(): void {
    for (const release of this.#release) release();
  }

  #abort(reason: unknown): void {
    if (this.signal.aborted) return;
    this.#end.abort(reason);
    for (const reject of this.#waiting) reject(reason);
  }
}
