/** A number of slots, granted in the order of the requests. */
export class Semaphore {
  readonly #waiters: (() => void)[] = [];
  readonly #slots: () => number;
  #taken = 0;

  /** @param slots how many there are now. If there are fewer than before, held slots are kept until their release. */
  constructor(slots: () => number) {
    this.#slots = slots;
  }

  /** Whether nobody holds a slot or waits for one. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /** The number of slots that are held. */
  get taken(): number {
    return this.#taken;
  }

  /** The number of callers that wait for a slot. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /**
   * Takes a slot if one is free now. @returns a function that releases it; calling it again has no effect. Null if no
   * slot is free.
   */
  tryAcquire(): (() => void) | null {
    if (this.#taken >= this.#slots()) return null;
    this.#taken++;
    return this.#release();
  }

  /** Must be called after the number of slots has changed: callers that wait get the new ones. */
  resized(): void {
    while (this.#taken < this.#slots() && this.#waiters.length > 0) {
      this.#taken++;
      this.#waiters.shift()?.();
    }
  }

  /** Takes a slot as soon as one is free. Rejects with the signal's reason as soon as the signal aborts. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    return this.tryAcquire() ?? this.#next(signal);
  }

  #next(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(this.#release());
      };
      const giveUp = () => {
        this.#waiters.splice(this.#waiters.indexOf(take), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiters.push(take);
    });
  }

  #release(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.#taken > this.#slots() ? undefined : this.#waiters.shift();
      // The slot is passed on to the next caller, so the number of taken slots does not change.
      if (next) next();
      else this.#taken--;
    };
  }
}
