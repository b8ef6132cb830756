import type { Log } from './log.ts';

/**
 * The parts that were started, in order, and how to stop them, in reverse order. If one part fails to stop, the others
 * are still stopped. Stopping happens once; it also cleans up after a start that failed halfway.
 */
export class Lifecycle {
  readonly #parts: { name: string; stop: () => Promise<void> | void }[] = [];
  #stopped: Promise<void> | null = null;

  started(name: string, stop: () => Promise<void> | void): void {
    this.#parts.push({ name, stop });
  }

  stop(log: Log): Promise<void> {
    this.#stopped ??= this.#stopAll(log);
    return this.#stopped;
  }

  async #stopAll(log: Log): Promise<void> {
    for (const part of this.#parts.reverse()) {
      try {
        await part.stop();
      } catch (error) {
        log.error({ err: error, part: part.name }, 'a part did not stop cleanly');
      }
    }
  }
}
