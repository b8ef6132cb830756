import { EventEmitter } from 'node:events';
import { randomSuffix } from '../../time/clock.ts';
import type { Listener } from './kernel.ts';

/**
 * Notifies those that wait for changes: at once in this process, with the data, and by hints in other processes. A hint
 * names a channel and what happened there, and may be lost.
 */
export class Hints {
  /** Marks the hints of this process, which it has already heard. */
  readonly #origin = randomSuffix();
  readonly #listeners = new EventEmitter().setMaxListeners(0);
  protected isClosed = false;

  /** Calls the listeners of this process. */
  tell(channel: string, heard: readonly unknown[]): void {
    if (!this.isClosed) this.#listeners.emit(toEventName(channel), ...heard);
  }

  /** The hint for the other processes. */
  hint(channel: string, change: unknown): string {
    return JSON.stringify([this.#origin, channel, change]);
  }

  watch(channel: string, hear: Listener): () => void {
    this.#listeners.on(toEventName(channel), hear);
    return () => void this.#listeners.off(toEventName(channel), hear);
  }

  close(): void {
    this.isClosed = true;
  }

  protected isWatched(channel: string): boolean {
    return this.#listeners.listenerCount(toEventName(channel)) > 0;
  }

  /** Takes a hint. Anybody who may use the server can send anything. */
  protected hear(text: string): void {
    let hint: unknown;
    try {
      hint = JSON.parse(text);
    } catch {
      return;
    }
    if (!Array.isArray(hint)) return;
    const [origin, channel, ...heard] = hint as unknown[];
    if (origin !== this.#origin && typeof channel === 'string') this.tell(channel, heard);
  }
}

/** The name of the event for a channel. It is never that of an event which EventEmitter treats in its own way. */
function toEventName(channel: string): string {
  return `told ${channel}`;
}
