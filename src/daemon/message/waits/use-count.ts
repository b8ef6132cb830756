/** Counts the users of something that is later replaced, so that it is stopped after the last of them has ended. */
export class UseCount {
  #users = 0;
  #whenUnused: (() => void) | null = null;

  /** @returns a function that ends the use; calling it again has no effect. */
  begin(): () => void {
    this.#users++;
    let isUsed = true;
    return () => {
      if (!isUsed) return;
      isUsed = false;
      this.#users--;
      if (this.#users === 0) this.#whenUnused?.();
    };
  }

  /** Resolves as soon as nobody uses it. Must be called only when no more users can begin. */
  ended(): Promise<void> {
    if (this.#users === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenUnused = resolve;
    });
  }
}
