import { Semaphore } from './semaphore.ts';
import type { Waiter, WaitLimit } from './wait-limit.ts';

/** The slots for concurrent runs of this process (AGENT_CONCURRENCY), granted in the order of the requests. */
export class RunSlots extends Semaphore {
  readonly #waits: WaitLimit;

  /** @param concurrency how many runs there may be now */
  constructor(concurrency: () => number, waits: WaitLimit) {
    super(concurrency);
    this.#waits = waits;
  }

  /**
   * Takes a slot for a run. @returns a function that releases it; a promise only if no slot is free now.
   * @throws `unavailable` if no slot is free in time.
   */
  take(waiter: Waiter): (() => void) | Promise<() => void> {
    return this.tryAcquire() ?? this.#waits.bound(waiter, (signal) => this.acquire(signal));
  }
}
