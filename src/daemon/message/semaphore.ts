/** A number of slots, given out in the order in which they are asked for. */
export class Semaphore {
  readonly #waiters: (() => void)[] = [];
  readonly #slots: number;
  #taken = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Nobody holds a slot or waits for one. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /** Slots that somebody holds. */
  get taken(): number {
    return this.#taken;
  }

  /** Those who wait for a slot. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** A slot, if one is free now. The result releases it; calling it again has no effect. */
  tryAcquire(): (() => void) | null {
    if (this.#taken >= this.#slots) return null;
    this.#taken++;
    return this.#release();
  }

  /** A slot, as soon as one is free. Rejects with the reason of the signal as soon as it aborts. */
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
      const next = this.#waiters.shift();
      // It is handed over, so the number of those that are taken stays the same.
      if (next) next();
      else this.#taken--;
    };
  }
}
