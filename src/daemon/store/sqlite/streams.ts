import { EventEmitter } from 'node:events';
import type Database from 'better-sqlite3';
import type { StreamEvent } from '../../../channel/index.ts';
import { clientTag } from '../../session/ids.ts';
import type { Clock } from '../../time/clock.ts';
import type { StreamClaim } from '../claims.ts';
import type {
  NewStream,
  StreamClaimant,
  StreamListener,
  StreamRecord,
  StreamStart,
  StreamStore,
} from '../streams.ts';
import type { AnonymousBytes, AnonymousRows, ClientSize, IdleRow } from './anonymous-bytes.ts';
import { Claims } from './claims.ts';
import { type GroupCommit, type Resident, read } from './writer.ts';

/** A stream as it is stored in its table. */
interface StreamRow extends Omit<StreamRecord, 'start' | 'stop_requested'> {
  id: number;
  start: string;
}

interface NewRow extends Omit<StreamRow, 'id' | 'state' | 'reader' | 'last_event'> {
  client: string | null;
  bytes: number;
  expires_at: number;
}

/** The part of a running stream that is needed to add events. */
interface Running {
  /** The id of the stream's row. */
  id: number;
  last_event: number;
  /** The tag of the anonymous client to whom it belongs; null if there is none. */
  client: string | null;
}

/** The data that is stored with the claim of a stream. */
interface Run {
  stop_requested: boolean;
}

/** Approximate size of a row and its index entries without its texts, bytes. */
const STREAM_BYTES = 500;
const EVENT_BYTES = 50;
const EVENTS_SIZE = `(SELECT coalesce(sum(${EVENT_BYTES} + octet_length(data)), 0) FROM stream_events WHERE stream = streams.id)`;

const LAST_EVENT = `(SELECT coalesce(max(id), 0) FROM stream_events WHERE stream = streams.id) AS last_event`;
const COLUMNS = `id, stream_id, state, idempotency_key, fingerprint, owner, reader, token, start, ttl_ms, ${LAST_EVENT}`;

/** The events that end a stream. After an `error`, the message may be sent again with the same key. */
const END = { stream_complete: 'completed', error: 'failed' } as const satisfies Partial<
  Record<StreamEvent['event'], string>
>;

/**
 * Streams and their events. Claims and subscriptions are in memory, because only one daemon uses the file. So if a
 * running stream has no claim in this process, its run died with another process or was abandoned.
 */
export class SqliteStreams implements StreamStore, Resident, AnonymousRows {
  readonly hintsMayBeLost = false;
  readonly gather_ms = 0;
  readonly #claims: Claims<Run>;
  /** Streams that are running in this process, as of the last commit. */
  readonly #running = new Map<string, Running>();
  readonly #subscribers = new EventEmitter().setMaxListeners(0);
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #anonymous: AnonymousBytes;
  readonly #findLive;
  readonly #isLive;
  readonly #findByKey;
  readonly #dropKey;
  readonly #insert;
  readonly #sizeOf;
  readonly #begin;
  readonly #findRunning;
  readonly #end;
  readonly #insertEvent;
  readonly #read;
  readonly #unended;
  readonly #deleteExpiredEvents;
  readonly #deleteExpiredStreams;
  readonly #evict;
  readonly #sizes;
  readonly #longestIdle;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock, anonymous: AnonymousBytes) {
    commit.keep(this);
    this.#anonymous = anonymous;
    anonymous.include(this);
    this.#claims = new Claims(commit, clock);
    this.#commit = commit;
    this.#clock = clock;
    const alive = `(expires_at IS NULL OR expires_at > @now)`;
    this.#findLive = db.prepare<{ stream_id: string; now: number }, StreamRow>(
      `SELECT ${COLUMNS} FROM streams WHERE stream_id = @stream_id AND ${alive}`,
    );
    this.#isLive = db.prepare<{ stream_id: string; now: number }>(
      `SELECT 1 FROM streams WHERE stream_id = @stream_id AND ${alive}`,
    );
    this.#findByKey = db.prepare<{ key: string; now: number }, StreamRow>(
      `SELECT ${COLUMNS} FROM streams WHERE idempotency_key = @key AND ${alive}`,
    );
    this.#dropKey = db.prepare<[string]>(
      `UPDATE streams SET idempotency_key = NULL WHERE idempotency_key = ?`,
    );
    this.#insert = db.prepare<NewRow>(
      `INSERT INTO streams
         (stream_id, state, idempotency_key, fingerprint, owner, client, token, start, bytes, ttl_ms, expires_at)
       VALUES
         (@stream_id, 'waiting', @idempotency_key, @fingerprint, @owner, @client, @token, @start, @bytes, @ttl_ms,
          @expires_at)`,
    );
    this.#sizeOf = db.prepare<[string], ClientSize>('SELECT client, bytes FROM streams WHERE stream_id = ?');
    this.#begin = db.prepare<
      StreamClaimant & { stream_id: string; now: number },
      Omit<Running, 'last_event'>
    >(
      `UPDATE streams SET state = 'running', token = NULL, owner = coalesce(@owner, owner), reader = @reader,
         client = iif(@owner IS NULL, client, NULL), expires_at = NULL
       WHERE stream_id = @stream_id AND state = 'waiting' AND expires_at > @now RETURNING id, client`,
    );
    this.#findRunning = db.prepare<[string], Running>(
      `SELECT id, client, ${LAST_EVENT} FROM streams WHERE stream_id = ? AND state = 'running'`,
    );
    this.#end = db.prepare<{ id: number; now: number; failed: 0 | 1 }>(
      `UPDATE streams SET state = 'ended', expires_at = @now + ttl_ms, bytes = bytes + iif(client IS NULL, 0, ${EVENTS_SIZE}),
         idempotency_key = CASE WHEN @failed THEN NULL ELSE idempotency_key END
       WHERE id = @id`,
    );
    this.#insertEvent = db.prepare<[number, number, string, string]>(
      `INSERT INTO stream_events (stream, id, name, data) VALUES (?, ?, ?, ?)`,
    );
    this.#read = db.prepare<{ stream_id: string; after: number; now: number }, StreamEvent>(
      `SELECT stream_events.id AS id, name AS event, data
       FROM streams JOIN stream_events ON stream = streams.id
       WHERE stream_id = +@stream_id AND stream_events.id > @after AND ${alive} ORDER BY stream_events.id`,
    );
    this.#unended = db.prepare<[], { stream_id: string; last_event: number }>(
      `SELECT stream_id, ${LAST_EVENT} FROM streams WHERE state = 'running'`,
    );
    this.#deleteExpiredEvents = db.prepare<[number, number]>(
      `DELETE FROM stream_events WHERE (stream, id) IN
         (SELECT stream, stream_events.id FROM streams JOIN stream_events ON stream = streams.id
          WHERE expires_at <= ? LIMIT ?)`,
    );
    this.#deleteExpiredStreams = db.prepare<[number, number], ClientSize>(
      `DELETE FROM streams WHERE id IN
         (SELECT id FROM streams
          WHERE expires_at <= ? AND NOT EXISTS (SELECT 1 FROM stream_events WHERE stream = streams.id) LIMIT ?)
       RETURNING client, bytes`,
    );
    this.#evict = db.prepare<[number], ClientSize>(
      'DELETE FROM streams WHERE id = ? RETURNING client, bytes',
    );
    this.#sizes = db.prepare<[], ClientSize>(
      `SELECT client, sum(bytes + iif(state = 'running', ${EVENTS_SIZE}, 0)) AS bytes FROM streams
       WHERE client IS NOT NULL GROUP BY client`,
    );
    this.#longestIdle = db.prepare<[string, number], IdleRow>(
      `SELECT id, expires_at - ttl_ms AS idle_since FROM streams WHERE client = ? AND expires_at IS NOT NULL
       ORDER BY idle_since LIMIT ?`,
    );
  }

  create(stream: NewStream): Promise<StreamRecord> {
    return this.#commit.write(() => {
      const now = this.#clock.now();
      const { idempotency_key: key } = stream;
      if (key !== null) {
        const holder = this.#findByKey.get({ key, now });
        if (holder) return this.#recordOf(holder);
        // An expired stream with this key may still be stored.
        this.#dropKey.run(key);
      }
      const { owner, token, start: begun } = stream;
      const client = owner === null && begun.address !== null ? clientTag(begun.address) : null;
      const start = JSON.stringify(begun);
      const bytes = STREAM_BYTES + Buffer.byteLength(start) + (token?.length ?? 0);
      this.#insert.run({ ...stream, client, start, bytes, expires_at: now + stream.ttl_ms });
      this.#anonymous.add(client, bytes);
      return { ...stream, reader: null, state: 'waiting', stop_requested: false, last_event: 0 };
    });
  }

  find(stream_id: string): Promise<StreamRecord | null> {
    return read(() => {
      const row = this.#findLive.get({ stream_id, now: this.#clock.now() });
      return row ? this.#recordOf(row) : null;
    });
  }

  findByKey(key: string): Promise<StreamRecord | null> {
    return read(() => {
      const row = this.#findByKey.get({ key, now: this.#clock.now() });
      return row ? this.#recordOf(row) : null;
    });
  }

  async claim(
    stream_id: string,
    claimant: StreamClaimant,
    first: readonly StreamEvent[] = [],
  ): Promise<StreamClaim | null> {
    const claim = await this.#commit.write(() => {
      const before = claimant.owner === null ? undefined : this.#sizeOf.get(stream_id);
      const begun = this.#begin.get({ ...claimant, stream_id, now: this.#clock.now() });
      if (begun === undefined) return null;
      if (before !== undefined) this.#anonymous.add(before.client, -before.bytes);
      this.#running.set(stream_id, { ...begun, last_event: 0 });
      const owner = this.#claims.begin(stream_id, { stop_requested: false });
      this.add(stream_id, first);
      return { stream_id, owner };
    });
    if (claim && first.length > 0) this.notify(stream_id, first);
    return claim;
  }

  async renew({ stream_id, owner }: StreamClaim): Promise<boolean> {
    return this.#claims.renew(stream_id, owner);
  }

  async append(claim: StreamClaim, events: readonly StreamEvent[]): Promise<boolean> {
    const added = await this.#commit.write(() => {
      if (!this.holds(claim)) return false;
      this.add(claim.stream_id, events);
      return true;
    });
    if (added) this.notify(claim.stream_id, events);
    return added;
  }

  read(stream_id: string, after: number): Promise<StreamEvent[] | null> {
    return read(() => {
      const now = this.#clock.now();
      const events = this.#read.all({ stream_id, after, now });
      return events.length === 0 && !this.#isLive.get({ stream_id, now }) ? null : events;
    });
  }

  subscribe(stream_id: string, listener: StreamListener): () => void {
    this.#subscribers.on(stream_id, listener);
    return () => this.#subscribers.off(stream_id, listener);
  }

  async requestStop(stream_id: string): Promise<void> {
    this.#commit.expectOpen();
    const run = this.#claims.detailOf(stream_id);
    if (!run) return;
    run.stop_requested = true;
    this.#subscribers.emit(stream_id, 'stop');
  }

  async release({ stream_id, owner }: StreamClaim): Promise<void> {
    this.#claims.release(stream_id, owner);
  }

  async reap(last: Omit<StreamEvent, 'id'>): Promise<number> {
    const dead = await this.#commit.write(() => {
      const unclaimed = this.#unended.all().filter(({ stream_id }) => !this.#claims.isValid(stream_id));
      for (const { stream_id, last_event } of unclaimed)
        this.add(stream_id, [{ ...last, id: last_event + 1 }]);
      return unclaimed;
    });
    for (const { stream_id } of dead) this.#subscribers.emit(stream_id, 'events');
    return dead.length;
  }

  /** Within a commit: whether the claim still belongs to its owner and the stream is running. */
  holds({ stream_id, owner }: StreamClaim): boolean {
    return this.#claims.holds(stream_id, owner) && this.#runningOf(stream_id) !== undefined;
  }

  /**
   * Within a commit: adds events to a running stream. The last event may end the stream and its claim.
   * @throws if the events do not follow the last event of the stream.
   */
  add(stream_id: string, events: readonly StreamEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    const before = last.id - events.length;
    const running = this.#runningOf(stream_id);
    if (running?.last_event !== before)
      throw new Error(`event ${before + 1} does not follow the last event of its stream`);
    for (const event of events) {
      this.#insertEvent.run(running.id, event.id, event.event, event.data);
      this.#anonymous.add(running.client, EVENT_BYTES + Buffer.byteLength(event.data));
    }
    const end = END[last.event as keyof typeof END];
    if (end) {
      this.#running.delete(stream_id);
      this.#claims.end(stream_id);
      this.#end.run({ id: running.id, now: this.#clock.now(), failed: end === 'failed' ? 1 : 0 });
    } else this.#running.set(stream_id, { ...running, last_event: last.id });
  }

  /** Notifies subscribers about committed events. */
  notify(stream_id: string, events: readonly StreamEvent[]): void {
    this.#subscribers.emit(stream_id, 'events', events);
  }

  /**
   * Within a commit: deletes at most `bite` rows of expired streams, events first. @returns the number of deleted rows.
   */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    const events = this.#deleteExpiredEvents.run(now, bite).changes;
    const streams = this.#deleteExpiredStreams.all(now, bite - events);
    for (const { client, bytes } of streams) this.#anonymous.add(client, -bytes);
    return events + streams.length;
  }

  sizes(): Iterable<ClientSize> {
    return this.#sizes.iterate();
  }

  /** The run of a stream keeps it, so only streams that wait or have ended are idle. */
  longestIdle(client: string, limit: number): readonly IdleRow[] {
    return this.#longestIdle.all(client, limit);
  }

  /** Deletes a stream with its events. @returns 1 */
  evict(id: number): number {
    const { client = null, bytes = 0 } = this.#evict.get(id) ?? {};
    this.#anonymous.add(client, -bytes);
    return 1;
  }

  load(): void {
    this.#running.clear();
  }

  /** Within a commit: finds a running stream. */
  #runningOf(stream_id: string): Running | undefined {
    return this.#running.get(stream_id) ?? this.#findRunning.get(stream_id);
  }

  #recordOf({ id: _, start, ...row }: StreamRow): StreamRecord {
    const { stop_requested = false } = this.#claims.detailOf(row.stream_id) ?? {};
    return { ...row, stop_requested, start: JSON.parse(start) as StreamStart };
  }
}
