import { Semaphore } from './semaphore.ts';
import type { Waiter, WaitLimit } from './wait-limit.ts';

/** The slots for concurrent runs of this process (AGENT_CONCURRENCY), granted in the order of the requests. */
export class RunSlots {
  readonly #slots: Semaphore;
  readonly #waits: WaitLimit;

  constructor(concurrency: number, waits: WaitLimit) {
    this.#slots = new Semaphore(concurrency);
    this.#waits = waits;
  }

  /** The number of current runs. */
  get running(): number {
    return this.#slots.taken;
  }

  /** The number of messages that wait for a slot. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  /**
   * Takes a slot for a run. @returns a function that releases it.
   * @throws `unavailable` if no slot is free in time.
   */
  async take(waiter: Waiter): Promise<() => void> {
    return this.#slots.tryAcquire() ?? this.#waits.bound(waiter, (signal) => this.#slots.acquire(signal));
  }
}
