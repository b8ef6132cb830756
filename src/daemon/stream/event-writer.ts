import type { StreamEvent } from '../../channel/index.ts';
import type { AlarmClock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { StreamClaim } from '../store/claims.ts';
import type { StreamStore } from '../store/streams.ts';
import type { TurnChanges } from '../store/turns.ts';
import { numbered, type StreamEventData } from './events.ts';

export interface EventWriterParts {
  streams: Pick<StreamStore, 'append' | 'find' | 'gather_ms'>;
  /** Of a stream that has no events yet. */
  claim: StreamClaim;
  clock: AlarmClock;
  log: Pick<Log, 'warn'>;
}

/**
 * Writes the events of a run to its stream. Events of one tick are merged, numbered and stored in one commit, and so are
 * those that come while a commit is under way. The first text is stored at once; text that follows waits for more, as long
 * as the store says (`gather_ms`), unless another event comes. An event that could not be stored because the store was out of reach is
 * tried again with the next one, once the store has said that it does not have it.
 */
export class EventWriter {
  readonly #parts: EventWriterParts;
  /** Id of the last event that is stored. */
  #stored = 0;
  #waiting: StreamEventData[] = [];
  /** Events whose append failed: the store has all of them or none. */
  #unsure: StreamEventData[] = [];
  #saving: Promise<void> | null = null;
  #scheduled = false;
  /** While text waits for more. */
  #cancelGathering: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: EventWriterParts) {
    this.#parts = parts;
  }

  /** Never throws, never waits; ignored after `close` or `end`. */
  write(event: StreamEventData): void {
    if (this.#isClosed) return;
    merge(this.#waiting, event);
    if (this.#scheduled || this.#saving || this.#waitsForMore()) return;
    this.#scheduled = true;
    // After everything that a runtime says at once.
    process.nextTick(() => {
      this.#scheduled = false;
      if (!this.#isClosed) this.#saveInBackground();
    });
  }

  /**
   * Takes no more events.
   * @returns those that are not stored yet and the last ones, for the commit of the turn. Called again if that failed.
   * Rejects if it is not known which events are stored, and the store is out of reach.
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
   * @returns whether the last events are stored. Rejects if the store is out of reach.
   */
  async end(last: readonly StreamEventData[]): Promise<boolean> {
    const { claim, events } = await this.close(last);
    return this.#parts.streams.append(claim, events);
  }

  #saveInBackground(): void {
    this.#saving ??= this.#save().then(
      () => {
        this.#saving = null;
        // Came after the last commit, and found this still under way.
        if (this.#waiting.length > 0 && !this.#isClosed && !this.#waitsForMore()) this.#saveInBackground();
      },
      (error: unknown) => {
        this.#saving = null;
        this.#parts.log.warn(
          { err: error },
          'events of a stream could not be stored; tried again with the next',
        );
      },
    );
  }

  /** One commit at a time, so that the events that come meanwhile are merged. */
  async #save(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed && !this.#waitsForMore()) {
      await this.#findStored();
      const batch = this.#waiting.splice(0);
      try {
        // If the claim is lost, its keeper ends the run.
        this.#gatherFrom(batch);
        await this.#parts.streams.append(this.#parts.claim, this.#numbered(batch));
        this.#stored += batch.length;
      } catch (error) {
        this.#unsure = batch;
        throw error;
      }
    }
  }

  /** Text that was said a moment ago, and nothing else. */
  #waitsForMore(): boolean {
    return this.#cancelGathering !== null && this.#waiting.every(({ event }) => event === 'text_chunk');
  }

  /** From text that is stored now, the text that follows waits for more. */
  #gatherFrom(batch: readonly StreamEventData[]): void {
    const { clock, streams } = this.#parts;
    if (streams.gather_ms === 0 || !batch.some(({ event }) => event === 'text_chunk')) return;
    this.#cancelGathering?.();
    this.#cancelGathering = clock.after(streams.gather_ms, () => {
      this.#cancelGathering = null;
      if (!this.#isClosed) this.#saveInBackground();
    });
  }

  /** After an append that failed, the store is asked whether it has the events. */
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
    return events.map((event, index) => numbered(event, this.#stored + 1 + index));
  }
}

/** Pieces of text that follow on each other become one event. */
function merge(waiting: StreamEventData[], event: StreamEventData): void {
  const last = waiting.at(-1);
  if (event.event === 'text_chunk' && last?.event === 'text_chunk') {
    waiting[waiting.length - 1] = { event: 'text_chunk', data: { text: last.data.text + event.data.text } };
  } else waiting.push(event);
}
