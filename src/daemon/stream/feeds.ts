import type { StreamEvent, StreamReader } from '../../channel/index.ts';
import type { Log } from '../log.ts';
import type { StreamStore } from '../store/streams.ts';
import { isLast } from './events.ts';

type EventSource = Pick<StreamStore, 'read' | 'watch'>;

/**
 * From the store to its readers: the events of a stream are read once for all who follow it here, and kept
 * as long as somebody does. A reader has no queue of its own, only its place, so a slow one costs nothing.
 */
export class Feeds {
  readonly #streams: EventSource;
  readonly #log: Pick<Log, 'warn'>;
  readonly #feeds = new Map<string, Feed>();

  constructor(streams: EventSource, log: Pick<Log, 'warn'>) {
    this.#streams = streams;
    this.#log = log;
  }

  /** Streams that somebody follows. */
  get size(): number {
    return this.#feeds.size;
  }

  /**
   * Hands the events after `after` to the reader. Resolves after the last one, when the reader has gone, or
   * where the run was given up; rejects as the reader does.
   */
  follow(stream_id: string, after: number, reader: StreamReader): Promise<void> {
    if (reader.signal.aborted) return Promise.resolve();
    let feed = this.#feeds.get(stream_id);
    if (!feed) {
      feed = new Feed(this.#streams, stream_id, this.#log, () => this.#forget(stream_id));
      this.#feeds.set(stream_id, feed);
    }
    return feed.join(reader, after);
  }

  /** A run ended without being able to say so: its readers' connections end, and they come back. */
  giveUp(stream_id: string): void {
    this.#feeds.get(stream_id)?.close();
  }

  #forget(stream_id: string): void {
    this.#feeds.delete(stream_id);
  }
}

/** Earlier events that are handed over together: bounds what a slow reader has been handed and not taken. */
const AT_ONCE = 100;

/** One stream, while it is followed. */
class Feed {
  readonly #streams: EventSource;
  readonly #stream_id: string;
  readonly #log: Pick<Log, 'warn'>;
  readonly #unwatch: () => void;
  readonly #closed: () => void;
  /** From the first one on, so that a place in it is the id of the event before. */
  readonly #events: StreamEvent[] = [];
  readonly #followers = new Set<Follower>();
  #newest: readonly StreamEvent[] = [];
  #over = false;
  #open = true;
  #reading = false;
  #readAgain = false;

  /** @param closed told when nobody follows any more, or nothing comes. */
  constructor(streams: EventSource, stream_id: string, log: Pick<Log, 'warn'>, closed: () => void) {
    this.#streams = streams;
    this.#stream_id = stream_id;
    this.#log = log;
    this.#closed = closed;
    this.#unwatch = streams.watch(stream_id, (_change, added) => this.#grow(added));
    this.#catchUp();
  }

  join(reader: StreamReader, place: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error?: unknown) => {
      reader.signal.removeEventListener('abort', gone);
      this.#followers.delete(follower);
      if (error === undefined) resolve();
      else reject(error);
      if (this.#followers.size === 0) this.close();
    };
    const gone = () => leave();
    const follower: Follower = { reader, place, waits: false, leave };
    this.#followers.add(follower);
    reader.signal.addEventListener('abort', gone, { once: true });
    this.#tell(follower);
    return promise;
  }

  /** Ends all who follow, where they are. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#unwatch();
    this.#closed();
    for (const follower of this.#followers) follower.leave();
  }

  /** Takes what was added, where it follows on what is here; else it is read. */
  #grow(added: readonly StreamEvent[] | undefined): void {
    if (added && !this.#reading && added[0]?.id === this.#events.length + 1) this.#take(added);
    else this.#catchUp();
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
      this.#take(await this.#streams.read(this.#stream_id, this.#events.length));
    } while (this.#readAgain && !this.#over);
  }

  #take(events: readonly StreamEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    this.#events.push(...events);
    this.#newest = events;
    this.#over = isLast(last);
    for (const follower of this.#followers) this.#tell(follower);
  }

  /** Hands over what has come since, where there is room. */
  #tell(follower: Follower): void {
    while (!follower.waits && follower.place < this.#events.length) {
      const events = this.#after(follower.place);
      follower.place += events.length;
      try {
        if (!follower.reader.take(events)) this.#await(follower);
      } catch (error) {
        follower.leave(error);
        return;
      }
    }
    if (this.#over && follower.place >= this.#events.length) follower.leave();
  }

  /** Events after that place; the same list for all readers of the newest ones. */
  #after(place: number): readonly StreamEvent[] {
    if (place === this.#events.length - this.#newest.length) return this.#newest;
    return this.#events.slice(place, place + AT_ONCE);
  }

  #await(follower: Follower): void {
    follower.waits = true;
    follower.reader.room().then(() => {
      follower.waits = false;
      if (this.#followers.has(follower)) this.#tell(follower);
    }, follower.leave);
  }
}

/** Somebody who follows. */
interface Follower {
  readonly reader: StreamReader;
  /** Id of the last event that was handed over. */
  place: number;
  /** There is no room for more now. */
  waits: boolean;
  leave(error?: unknown): void;
}
