import type { StreamEvent, StreamReader } from '../../channel/index.ts';
import type { Log } from '../process/log.ts';
import type { StreamStore } from '../store/streams.ts';
import { type AlarmClock, every } from '../time/clock.ts';
import { LiveMap } from '../time/live-map.ts';
import { isLast } from './events.ts';

type EventSource = Pick<StreamStore, 'read' | 'subscribe'>;

/** How often a stream is read even without a hint of the store, ms. Nothing else shows that it was erased. */
const LOOK_MS = 1000;

/**
 * Passes the events of streams from the store to their readers. The events of a stream are read once for all its
 * readers in this process, and kept as long as the stream has a reader. A reader has only a position and no queue, so a
 * slow reader needs hardly any memory.
 */
export class Broadcaster {
  readonly #parts: BroadcasterParts;
  readonly #feeds = new LiveMap<string, Feed>();

  constructor(parts: BroadcasterParts) {
    this.#parts = parts;
  }

  /** The number of streams that have readers. */
  get size(): number {
    return this.#feeds.size;
  }

  /**
   * Passes the events after `after` to the reader. Resolves after the last event, when the reader is gone, if the stream
   * is gone, or if the store cannot be read. Rejects if the reader throws or rejects.
   */
  follow(stream_id: string, after: number, reader: StreamReader): Promise<void> {
    if (reader.signal.aborted) return Promise.resolve();
    let feed = this.#feeds.get(stream_id);
    if (!feed) {
      feed = new Feed(this.#parts, stream_id, () => this.#feeds.delete(stream_id));
      this.#feeds.set(stream_id, feed);
    }
    return feed.join(reader, after);
  }
}

interface BroadcasterParts {
  streams: EventSource;
  clock: AlarmClock;
  log: Pick<Log, 'warn'>;
}

/**
 * Maximum number of earlier events that a reader gets at once. It limits how many events a slow reader has received but
 * not processed.
 */
const AT_ONCE = 100;

/** A stream that has at least one reader. */
class Feed {
  readonly #parts: BroadcasterParts;
  readonly #stream_id: string;
  readonly #closed: () => void;
  readonly #unsubscribe: () => void;
  readonly #stopLooking: () => void;
  /** All events, beginning with the first, so that the event with the id n has the index n - 1. */
  readonly #events: StreamEvent[] = [];
  readonly #followers = new Set<Follower>();
  #newest: readonly StreamEvent[] = [];
  #over = false;
  #open = true;
  #reading = false;
  #readAgain = false;

  /** @param closed called when the last reader has left, or if the store cannot be read. */
  constructor(parts: BroadcasterParts, stream_id: string, closed: () => void) {
    this.#parts = parts;
    this.#stream_id = stream_id;
    this.#closed = closed;
    this.#unsubscribe = parts.streams.subscribe(stream_id, (_change, added) => this.#grow(added));
    this.#stopLooking = every(parts.clock, LOOK_MS, () => this.#catchUp());
    this.#catchUp();
  }

  join(reader: StreamReader, position: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error?: unknown) => {
      reader.signal.removeEventListener('abort', gone);
      this.#followers.delete(follower);
      if (error === undefined) resolve();
      else reject(error);
      if (this.#followers.size === 0) this.close();
    };
    const gone = () => leave();
    const follower: Follower = { reader, position, waits: false, leave };
    this.#followers.add(follower);
    reader.signal.addEventListener('abort', gone, { once: true });
    this.#handOver(follower);
    return promise;
  }

  /** Ends all readers, even those that have not received all events. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stopLooking();
    this.#unsubscribe();
    this.#closed();
    for (const follower of this.#followers) follower.leave();
  }

  /**
   * Appends the new events if they follow the last known event. Otherwise, or if no events are given, reads the stream.
   */
  #grow(added: readonly StreamEvent[] | undefined): void {
    if (added && !this.#reading && added[0]?.id === this.#events.length + 1) this.#take(added);
    else this.#catchUp();
  }

  /**
   * Reads the new events. There is one read at a time; if something changes during a read, one more follows. A stream
   * that no longer exists has no readers: its person was erased.
   */
  #catchUp(): void {
    if (this.#over) return;
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    this.#reading = true;
    this.#read()
      .catch((error: unknown) => {
        this.#parts.log.warn(
          { err: error },
          'the events of a stream cannot be read; its readers will connect again',
        );
        this.close();
      })
      .finally(() => {
        this.#reading = false;
      });
  }

  async #read(): Promise<void> {
    do {
      this.#readAgain = false;
      const events = await this.#parts.streams.read(this.#stream_id, this.#events.length);
      if (events === null) return this.close();
      this.#take(events);
    } while (this.#readAgain && !this.#over);
  }

  #take(events: readonly StreamEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    this.#events.push(...events);
    this.#newest = events;
    this.#over = isLast(last);
    for (const follower of this.#followers) this.#handOver(follower);
  }

  /** Passes the events after the follower's position to its reader, as long as the reader has room. */
  #handOver(follower: Follower): void {
    while (!follower.waits && follower.position < this.#events.length) {
      const events = this.#after(follower.position);
      follower.position += events.length;
      try {
        if (!follower.reader.take(events)) this.#await(follower);
      } catch (error) {
        follower.leave(error);
        return;
      }
    }
    if (this.#over && follower.position >= this.#events.length) follower.leave();
  }

  /**
   * The next events after this position. Readers that have all events except the newest ones share one list.
   */
  #after(position: number): readonly StreamEvent[] {
    if (position === this.#events.length - this.#newest.length) return this.#newest;
    return this.#events.slice(position, position + AT_ONCE);
  }

  #await(follower: Follower): void {
    follower.waits = true;
    follower.reader.room().then(() => {
      follower.waits = false;
      if (this.#followers.has(follower)) this.#handOver(follower);
    }, follower.leave);
  }
}

/** A reader of the stream, with its position. */
interface Follower {
  readonly reader: StreamReader;
  /** Id of the last event that the reader has received. */
  position: number;
  /** Whether the reader has no room for more events now. */
  waits: boolean;
  leave(error?: unknown): void;
}
