import type { StreamEvent } from '../../channel/index.ts';
import type { Log } from '../process/log.ts';
import type { StreamClaim } from '../store/claims/claims.ts';
import type { TurnChanges } from '../store/sessions/turns.ts';
import type { StreamStore } from '../store/streams.ts';
import type { AlarmClock } from '../time/clock.ts';
import { numberEvent, type StreamEventData } from './events.ts';

interface EventWriterParts {
  streams: Pick<StreamStore, 'append' | 'find' | 'gather_ms'>;
  claim: StreamClaim;
  /** Number of events that the stream already has; 0 if absent. */
  begun?: number;
  clock: AlarmClock;
  log: Pick<Log, 'warn'>;
}

/**
 * Writes the events of a run to its stream. Events of one tick are numbered and stored in one commit, and consecutive
 * pieces of text are merged. Events that arrive during a commit are stored together in the next one. The first text is
 * stored at once. Later text is buffered for the time that the store prefers (`gather_ms`), or until an event of
 * another kind arrives.
 *
 * If the store cannot be reached, the events of a commit may or may not be stored. The writer stores them with the next
 * events, after it has made sure that the store does not have them.
 */
export class EventWriter {
  readonly #parts: EventWriterParts;
  /** Id of the last event that is stored. */
  #stored: number;
  #waiting: StreamEventData[] = [];
  /** Events that could not be appended with certainty. The store has either all of them or none. */
  #unsure: StreamEventData[] = [];
  #saving: Promise<void> | null = null;
  #scheduled = false;
  /** Stops buffering text. Null if no text is buffered. */
  #cancelGathering: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: EventWriterParts) {
    this.#parts = parts;
    this.#stored = parts.begun ?? 0;
  }

  /** Adds an event. Never throws, never waits. Events after `close` or `end` are ignored. */
  write(event: StreamEventData): void {
    if (this.#isClosed) return;
    merge(this.#waiting, event);
    if (this.#scheduled || this.#saving || this.#waitsForMore()) return;
    this.#scheduled = true;
    // This runs when a runtime has produced all of its text for this tick.
    process.nextTick(() => {
      this.#scheduled = false;
      if (!this.#isClosed) this.#saveInBackground();
    });
  }

  /**
   * Accepts no more events.
   * @returns the events that are not stored yet, followed by `last`, for the commit of the turn. Call it again if the
   * commit failed. Rejects if it is not known which events are stored, and the store cannot be reached.
   */
  async close(last: readonly StreamEventData[]): Promise<NonNullable<TurnChanges['events']>> {
    this.#isClosed = true;
    this.#cancelGathering?.();
    await this.#saving;
    await this.#findStored();
    return { claim: this.#parts.claim, events: this.#numbered([...this.#waiting, ...last]) };
  }

  /**
   * Ends the stream now, before its turn ends.
   * @returns whether `last` is stored. Rejects if the store cannot be reached.
   */
  async end(last: readonly StreamEventData[]): Promise<boolean> {
    const { claim, events } = await this.close(last);
    return this.#parts.streams.append(claim, events);
  }

  #saveInBackground(): void {
    this.#saving ??= this.#save().then(
      () => {
        this.#saving = null;
        // Events may have arrived between the last commit and this callback.
        if (this.#waiting.length > 0 && !this.#isClosed && !this.#waitsForMore()) this.#saveInBackground();
      },
      (error: unknown) => {
        this.#saving = null;
        this.#parts.log.warn(
          { err: error },
          'events of a stream could not be stored; will try again with the next events',
        );
      },
    );
  }

  /** Stores the waiting events, one commit at a time, so that events that arrive during a commit are merged. */
  async #save(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed && !this.#waitsForMore()) {
      await this.#findStored();
      const batch = this.#waiting.splice(0);
      try {
        // If the claim is lost, `append` stores nothing, and `ClaimKeeper` ends the run.
        this.#gatherFrom(batch);
        await this.#parts.streams.append(this.#parts.claim, this.#numbered(batch));
        this.#stored += batch.length;
      } catch (error) {
        this.#unsure = batch;
        throw error;
      }
    }
  }

  /** Whether only text is waiting and its time in the buffer has not passed. */
  #waitsForMore(): boolean {
    return this.#cancelGathering !== null && this.#waiting.every(({ event }) => event === 'text_chunk');
  }

  /** Starts to buffer text if the batch contains text, because more text will follow. */
  #gatherFrom(batch: readonly StreamEventData[]): void {
    const { clock, streams } = this.#parts;
    if (streams.gather_ms === 0 || !batch.some(({ event }) => event === 'text_chunk')) return;
    this.#cancelGathering?.();
    this.#cancelGathering = clock.after(streams.gather_ms, () => {
      this.#cancelGathering = null;
      if (!this.#isClosed) this.#saveInBackground();
    });
  }

  /** After a failed append, checks whether the store has the events. */
  async #findStored(): Promise<void> {
    if (this.#unsure.length === 0) return;
    const { streams, claim } = this.#parts;
    const stream = await streams.find(claim.stream_id);
    const unsure = this.#unsure.splice(0);
    if ((stream?.last_event ?? 0) > this.#stored) {
      this.#stored += unsure.length;
      return;
    }
    const later = this.#waiting;
    this.#waiting = unsure;
    for (const event of later) merge(unsure, event);
  }

  #numbered(events: readonly StreamEventData[]): StreamEvent[] {
    return events.map((event, index) => numberEvent(event, this.#stored + 1 + index));
  }
}

/** Merges consecutive pieces of text into one event. */
function merge(waiting: StreamEventData[], event: StreamEventData): void {
  const last = waiting.at(-1);
  if (event.event === 'text_chunk' && last?.event === 'text_chunk') {
    waiting[waiting.length - 1] = { event: 'text_chunk', data: { text: last.data.text + event.data.text } };
  } else waiting.push(event);
}
