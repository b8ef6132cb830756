import { EventEmitter } from 'node:events';
import type Database from 'better-sqlite3';
import type { StreamEvent } from '../../../channel/index.ts';
import type { Clock } from '../../clock.ts';
import type {
  NewStream,
  StreamClaimant,
  StreamListener,
  StreamRecord,
  StreamStart,
  StreamStore,
} from '../streams.ts';
import { type GroupCommit, type Resident, read } from './writer.ts';

/** A stream as its table holds it. */
interface StreamRow extends Omit<StreamRecord, 'start'> {
  id: number;
  start: string;
}

/** A running stream, as far as its next events go. */
interface Place {
  /** Its row. */
  id: number;
  last_event: number;
}

const LAST_EVENT = `(SELECT coalesce(max(id), 0) FROM stream_events WHERE stream = streams.id) AS last_event`;
const COLUMNS = `id, stream_id, state, idempotency_key, fingerprint, owner, reader, token, start, ttl_ms, ${LAST_EVENT}`;

/** The names with which a stream ends; after a failure its message may be sent again under the same key. */
const END = { stream_complete: 'completed', error: 'failed' } as const satisfies Partial<
  Record<StreamEvent['event'], string>
>;

/**
 * Streams and their events. Runs and watchers are in memory, since one daemon works on the file: a run that
 * this process does not know of has died with another.
 */
export class SqliteStreams implements StreamStore, Resident {
  /** Streams that this process runs. */
  readonly #running = new Set<string>();
  /** Where those stand that were told something lately. */
  readonly #places = new Map<string, Place>();
  readonly #watchers = new EventEmitter().setMaxListeners(0);
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #find;
  readonly #findByKey;
  readonly #dropKey;
  readonly #insert;
  readonly #begin;
  readonly #place;
  readonly #end;
  readonly #insertEvent;
  readonly #read;
  readonly #unended;
  readonly #deleteExpiredEvents;
  readonly #deleteExpiredStreams;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    commit.keep(this);
    this.#commit = commit;
    this.#clock = clock;
    const alive = `(expires_at IS NULL OR expires_at > @now)`;
    this.#find = db.prepare<{ stream_id: string; now: number }, StreamRow>(
      `SELECT ${COLUMNS} FROM streams WHERE stream_id = @stream_id AND ${alive}`,
    );
    this.#findByKey = db.prepare<{ key: string; now: number }, StreamRow>(
      `SELECT ${COLUMNS} FROM streams WHERE idempotency_key = @key AND ${alive}`,
    );
    this.#dropKey = db.prepare<[string]>(
      `UPDATE streams SET idempotency_key = NULL WHERE idempotency_key = ?`,
    );
    this.#insert = db.prepare<
      Omit<StreamRow, 'id' | 'state' | 'reader' | 'last_event'> & { expires_at: number }
    >(
      `INSERT INTO streams
         (stream_id, state, idempotency_key, fingerprint, owner, token, start, ttl_ms, expires_at)
       VALUES
         (@stream_id, 'waiting', @idempotency_key, @fingerprint, @owner, @token, @start, @ttl_ms, @expires_at)`,
    );
    this.#begin = db
      .prepare<StreamClaimant & { stream_id: string; now: number }, number>(
        `UPDATE streams SET state = 'running', token = NULL, owner = coalesce(@owner, owner), reader = @reader,
           expires_at = NULL
         WHERE stream_id = @stream_id AND state = 'waiting' AND expires_at > @now RETURNING id`,
      )
      .pluck();
    this.#place = db.prepare<[string], Place>(
      `SELECT id, ${LAST_EVENT} FROM streams WHERE stream_id = ? AND state = 'running'`,
    );
    this.#end = db.prepare<{ id: number; now: number; failed: 0 | 1 }>(
      `UPDATE streams SET state = 'ended', expires_at = @now + ttl_ms,
         idempotency_key = CASE WHEN @failed THEN NULL ELSE idempotency_key END
       WHERE id = @id`,
    );
    this.#insertEvent = db.prepare<[number, number, string, string]>(
      `INSERT INTO stream_events (stream, id, name, data) VALUES (?, ?, ?, ?)`,
    );
    this.#read = db.prepare<[string, number], StreamEvent>(
      `SELECT stream_events.id AS id, name AS event, data
       FROM streams JOIN stream_events ON stream = streams.id
       WHERE stream_id = ? AND stream_events.id > ? ORDER BY stream_events.id`,
    );
    this.#unended = db.prepare<[], { stream_id: string; last_event: number }>(
      `SELECT stream_id, ${LAST_EVENT} FROM streams WHERE state = 'running'`,
    );
    this.#deleteExpiredEvents = db.prepare<[number, number]>(
      `DELETE FROM stream_events WHERE (stream, id) IN
         (SELECT stream, stream_events.id FROM streams JOIN stream_events ON stream = streams.id
          WHERE expires_at <= ? LIMIT ?)`,
    );
    this.#deleteExpiredStreams = db.prepare<[number, number]>(
      `DELETE FROM streams WHERE id IN
         (SELECT id FROM streams
          WHERE expires_at <= ? AND NOT EXISTS (SELECT 1 FROM stream_events WHERE stream = streams.id) LIMIT ?)`,
    );
  }

  create(stream: NewStream): Promise<StreamRecord> {
    return this.#commit.write(() => {
      const now = this.#clock.now();
      const { idempotency_key: key } = stream;
      if (key !== null) {
        const holder = this.#findByKey.get({ key, now });
        if (holder) return recordOf(holder);
        // One whose time has passed may still be there.
        this.#dropKey.run(key);
      }
      this.#insert.run({ ...stream, start: JSON.stringify(stream.start), expires_at: now + stream.ttl_ms });
      return { ...stream, reader: null, state: 'waiting', last_event: 0 };
    });
  }

  find(stream_id: string): Promise<StreamRecord | null> {
    return read(() => {
      const row = this.#find.get({ stream_id, now: this.#clock.now() });
      return row ? recordOf(row) : null;
    });
  }

  findByKey(key: string): Promise<StreamRecord | null> {
    return read(() => {
      const row = this.#findByKey.get({ key, now: this.#clock.now() });
      return row ? recordOf(row) : null;
    });
  }

  async claim(stream_id: string, claimant: StreamClaimant): Promise<boolean> {
    try {
      return await this.#commit.write(() => {
        const id = this.#begin.get({ ...claimant, stream_id, now: this.#clock.now() });
        if (id === undefined) return false;
        this.#places.set(stream_id, { id, last_event: 0 });
        // Within the commit, so that no reaper finds it running for nobody.
        this.#running.add(stream_id);
        return true;
      });
    } catch (error) {
      this.#running.delete(stream_id);
      throw error;
    }
  }

  async append(stream_id: string, events: readonly StreamEvent[]): Promise<void> {
    await this.#commit.write(() => this.#add(stream_id, events));
    this.#watchers.emit(stream_id, 'events', events);
  }

  read(stream_id: string, after: number): Promise<StreamEvent[]> {
    return read(() => this.#read.all(stream_id, after));
  }

  watch(stream_id: string, listener: StreamListener): () => void {
    this.#watchers.on(stream_id, listener);
    return () => this.#watchers.off(stream_id, listener);
  }

  async askToStop(stream_id: string): Promise<void> {
    this.#watchers.emit(stream_id, 'stop');
  }

  async release(stream_id: string): Promise<void> {
    this.#running.delete(stream_id);
    this.#places.delete(stream_id);
  }

  async reap(last: Omit<StreamEvent, 'id'>): Promise<number> {
    const dead = await this.#commit.write(() => {
      const given = this.#unended.all().filter(({ stream_id }) => !this.#running.has(stream_id));
      for (const { stream_id, last_event } of given) this.#add(stream_id, [{ ...last, id: last_event + 1 }]);
      return given;
    });
    for (const { stream_id } of dead) this.#watchers.emit(stream_id, 'events');
    return dead.length;
  }

  /** Within a commit: deletes at most `bite` rows of streams that are over, events first. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    const events = this.#deleteExpiredEvents.run(now, bite).changes;
    return events + this.#deleteExpiredStreams.run(now, bite - events).changes;
  }

  /** What is held in memory is looked up again. */
  load(): void {
    this.#places.clear();
  }

  /** Within a commit. */
  #add(stream_id: string, events: readonly StreamEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    const before = last.id - events.length;
    const place = this.#places.get(stream_id) ?? this.#place.get(stream_id);
    if (place?.last_event !== before)
      throw new Error(`event ${before + 1} does not follow on the last one of its stream`);
    for (const event of events) this.#insertEvent.run(place.id, event.id, event.event, event.data);
    const end = END[last.event as keyof typeof END];
    if (end) {
      this.#places.delete(stream_id);
      this.#end.run({ id: place.id, now: this.#clock.now(), failed: end === 'failed' ? 1 : 0 });
    } else this.#places.set(stream_id, { id: place.id, last_event: last.id });
  }
}

function recordOf({ id: _, start, ...row }: StreamRow): StreamRecord {
  return { ...row, start: JSON.parse(start) as StreamStart };
}
