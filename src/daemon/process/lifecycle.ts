import { type AlarmClock, liveClock } from '../time/clock.ts';
import { within } from '../time/time-limit.ts';
import type { Log } from './log.ts';

/** How long a part may take to stop, ms. A channel or a runtime may hang. */
const STOP_MS = 10_000;

/**
 * The parts that were started, in order, and how to stop them, in reverse order. If one part fails to stop, the others
 * are still stopped. Stopping happens once; it also cleans up after a start that failed halfway.
 */
export class Lifecycle {
  readonly #clock: Pick<AlarmClock, 'after'>;
  readonly #parts: { name: string; stop: () => Promise<void> | void }[] = [];
  #stopped: Promise<void> | null = null;

  constructor(clock: Pick<AlarmClock, 'after'> = liveClock) {
    this.#clock = clock;
  }

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
        await within((async () => part.stop())(), STOP_MS, late, this.#clock);
      } catch (error) {
        log.error({ err: error, part: part.name }, 'a part did not stop cleanly');
      }
    }
  }
}

function late(): never {
  throw new Error(`it did not stop within ${STOP_MS / 1000} seconds`);
}
