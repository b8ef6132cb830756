import type { Log } from './log.ts';

/**
 * What was started, in order, and how to stop it, in reverse. Stopping goes on when one part fails to
 * stop, and happens once; it also serves a start that failed half-way.
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
