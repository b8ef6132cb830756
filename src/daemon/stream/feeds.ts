import type { StreamEvent } from '../../channel/index.ts';
import type { Log } from '../log.ts';
import type { StreamStore } from '../store/streams.ts';
import { isLast } from './events.ts';

/**
 * From the store to its readers: the events of a stream are read once for all who follow it here, and kept
 * as long as somebody does. A reader has no queue of its own, only its place, so a slow one costs nothing.
 */
export class Feeds {
  readonly #streams: Pick<StreamStore, 'read' | 'watch'>;
  readonly #log: Pick<Log, 'warn'>;
  readonly #feeds = new Map<string, Feed>();

  constructor(streams: Pick<StreamStore, 'read' | 'watch'>, log: Pick<Log, 'warn'>) {
    this.#streams = streams;
    this.#log = log;
  }

  /** Streams that somebody follows. */
  get size(): number {
    return this.#feeds.size;
  }

  /**
   * The events after `after`, all that there are at once; ends after the last one, when `signal` aborts, or
   * where the run was given up.
   */
  async *follow(
    stream_id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StreamEvent[]> {
    if (signal.aborted) return;
    let feed = this.#feeds.get(stream_id);
    if (!feed) {
      feed = new Feed(this.#streams, stream_id, this.#log);
      this.#feeds.set(stream_id, feed);
    }
    const reader: Reader = { wake: () => {} };
    const leave = () => reader.wake();
    signal.addEventListener('abort', leave, { once: true });
    feed.readers.add(reader);
    try {
      let place = after;
      while (!signal.aborted) {
        const events = feed.after(place);
        if (events.length > 0) {
          place += events.length;
          yield events;
        } else if (feed.over) return;
        else
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener('abort', leave);
      feed.readers.delete(reader);
      if (feed.readers.size === 0) {
        feed.close();
        if (this.#feeds.get(stream_id) === feed) this.#feeds.delete(stream_id);
      }
    }
  }

  /** A run ended without being able to say so: its readers' connections end, and they come back. */
  giveUp(stream_id: string): void {
    const feed = this.#feeds.get(stream_id);
    this.#feeds.delete(stream_id);
    feed?.close();
  }
}

/** Who follows a stream; woken where it waits. */
interface Reader {
  wake(): void;
}

const NOTHING: readonly StreamEvent[] = [];

/** One stream, while it is followed. */
class Feed {
  readonly #streams: Pick<StreamStore, 'read' | 'watch'>;
  readonly #stream_id: string;
  readonly #log: Pick<Log, 'warn'>;
  readonly #unwatch: () => void;
  /** From the first one on, so that a place in it is the id of the event before. */
  readonly #events: StreamEvent[] = [];
  /** Those who follow. */
  readonly readers = new Set<Reader>();
  #newest: readonly StreamEvent[] = NOTHING;
  #over = false;
  #reading = false;
  #readAgain = false;

  constructor(streams: Pick<StreamStore, 'read' | 'watch'>, stream_id: string, log: Pick<Log, 'warn'>) {
    this.#streams = streams;
    this.#stream_id = stream_id;
    this.#log = log;
    this.#unwatch = streams.watch(stream_id, () => this.#catchUp());
    this.#catchUp();
  }

  /** Nothing comes any more. */
  get over(): boolean {
    return this.#over;
  }

  /** The events that are here after that place; the same list for all readers of the newest ones. */
  after(place: number): readonly StreamEvent[] {
    if (place >= this.#events.length) return NOTHING;
    return place === this.#events.length - this.#newest.length ? this.#newest : this.#events.slice(place);
  }

  close(): void {
    this.#unwatch();
    this.#over = true;
    this.#wakeAll();
  }

  /** Reads what is new; one look at a time, and one more where something changed meanwhile. */
  #catchUp(): void {
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    this.#reading = true;
    this.#read()
      .catch((error: unknown) => {
        this.#log.warn({ err: error }, 'the events of a stream cannot be read; its readers come back');
        this.close();
      })
      .finally(() => {
        this.#reading = false;
      });
  }

  async #read(): Promise<void> {
    do {
      this.#readAgain = false;
      const events = await this.#streams.read(this.#stream_id, this.#events.length);
      this.#events.push(...events);
      if (events.length > 0) this.#newest = events;
      const last = events.at(-1);
      if (last && isLast(last)) this.#over = true;
      if (events.length > 0) this.#wakeAll();
    } while (this.#readAgain && !this.#over);
  }

  #wakeAll(): void {
    for (const reader of this.readers) reader.wake();
  }
}
