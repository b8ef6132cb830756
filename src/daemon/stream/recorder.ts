import type { Log } from '../log.ts';
import type { StreamStore } from '../store/streams.ts';
import { numbered, type SaidEvent } from './events.ts';

/**
 * Writes what a run says to its stream: what is said within one turn of the event loop is merged, numbered,
 * and stored in one commit; so is what is said while that one is under way. Nothing is lost where the store
 * is out of reach: what could not be stored is tried again with what follows.
 */
export class Recorder {
  readonly #streams: Pick<StreamStore, 'append'>;
  readonly #stream_id: string;
  readonly #log: Pick<Log, 'warn'>;
  /** Id of the last event that is stored. */
  #stored = 0;
  #waiting: SaidEvent[] = [];
  #saving: Promise<void> | null = null;
  #scheduled = false;
  #ended = false;

  /** @param stream_id of a stream that was just claimed. */
  constructor(streams: Pick<StreamStore, 'append'>, stream_id: string, log: Pick<Log, 'warn'>) {
    this.#streams = streams;
    this.#stream_id = stream_id;
    this.#log = log;
  }

  /** The last event is stored. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Never throws, never waits; ignored after the end. */
  say(said: SaidEvent): void {
    if (this.#ended) return;
    merge(this.#waiting, said);
    if (this.#scheduled || this.#saving) return;
    this.#scheduled = true;
    // After all that a runtime says at once; the store itself waits until the turn of the event loop is over.
    process.nextTick(() => {
      this.#scheduled = false;
      this.#save().catch((error: unknown) => {
        this.#log.warn({ err: error }, 'events of a stream could not be stored; tried again with the next');
      });
    });
  }

  /** Resolves when all that was said is stored; rejects where it cannot be. */
  async settled(): Promise<void> {
    while (this.#saving || this.#waiting.length > 0) await this.#save();
  }

  /**
   * Stores the last events. After `settled`, in the very commit of what else is written in this turn of the
   * event loop. No effect on a stream that has ended.
   */
  async end(last: readonly SaidEvent[]): Promise<void> {
    while (this.#saving) await this.#saving.catch(() => undefined);
    if (this.#ended) return;
    this.#waiting.push(...last);
    const batch = this.#waiting.length;
    this.#saving = this.#saveWaiting(() => {
      this.#ended = true;
      this.#waiting = [];
    });
    try {
      await this.#saving;
    } catch (error) {
      // Whoever failed to end it may end it in another way.
      this.#waiting.splice(batch - last.length, last.length);
      throw error;
    }
  }

  /** One save at a time, so that what is said meanwhile is merged. */
  #save(): Promise<void> {
    if (!this.#saving && this.#waiting.length > 0) this.#saving = this.#saveWaiting();
    return this.#saving ?? Promise.resolve();
  }

  async #saveWaiting(stored?: () => void): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.splice(0);
        try {
          await this.#append(batch);
          stored?.();
        } catch (error) {
          this.#waiting.unshift(...batch);
          throw error;
        }
      }
    } finally {
      // At once, not when the promise has told it: what is said in between would be forgotten.
      this.#saving = null;
    }
  }

  async #append(batch: readonly SaidEvent[]): Promise<void> {
    const first = this.#stored + 1;
    await this.#streams.append(
      this.#stream_id,
      batch.map((said, index) => numbered(said, first + index)),
    );
    this.#stored += batch.length;
  }
}

/** Pieces of text that follow on each other become one event. */
function merge(waiting: SaidEvent[], said: SaidEvent): void {
  const last = waiting.at(-1);
  if (said.event === 'text_chunk' && last?.event === 'text_chunk') {
    waiting[waiting.length - 1] = { event: 'text_chunk', data: { text: last.data.text + said.data.text } };
  } else waiting.push(said);
}
