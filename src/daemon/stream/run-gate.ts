/** Maximum time for which streams that are opened later delay a run, ms. */
const WAIT_MS = 50;

/**
 * Lets runs begin in the first iteration of the event loop in which no other run has come to the gate. If a thousand
 * streams are opened at once, all of their requests are answered before the runs begin.
 */
export class RunGate {
  #waiting: (() => void)[] = [];
  /** How many runs were waiting at the last look. */
  #waited = 0;
  #since = 0;

  /** Resolves when the run may begin. */
  pass(): Promise<void> {
    if (this.#waiting.length === 0) {
      this.#waited = 0;
      this.#since = performance.now();
      setImmediate(() => this.#look());
    }
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #look(): void {
    const grows = this.#waiting.length > this.#waited;
    this.#waited = this.#waiting.length;
    if (grows && performance.now() - this.#since < WAIT_MS) setImmediate(() => this.#look());
    else for (const begin of this.#waiting.splice(0)) begin();
  }
}
