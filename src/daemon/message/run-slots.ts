import { Semaphore } from './semaphore.ts';
import type { Waiter, WaitLimit } from './wait-limit.ts';

/** The bounded number of runs of this process (AGENT_CONCURRENCY), given out in the order of asking. */
export class RunSlots {
  readonly #slots: Semaphore;
  readonly #waits: WaitLimit;

  constructor(concurrency: number, waits: WaitLimit) {
    this.#slots = new Semaphore(concurrency);
    this.#waits = waits;
  }

  /** Runs that go on now. */
  get running(): number {
    return this.#slots.taken;
  }

  /** Messages that wait for one. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  /**
   * One of the runs; the result releases it.
   * @throws `unavailable` if none is free in time
   */
  async take(waiter: Waiter): Promise<() => void> {
    return this.#slots.tryAcquire() ?? this.#waits.bound(waiter, (signal) => this.#slots.acquire(signal));
  }
}
