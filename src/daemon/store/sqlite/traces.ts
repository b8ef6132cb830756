import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import { TRACES_FOUND_MAX } from '../bounds.ts';
import type { TraceStore, TraceUser } from '../traces.ts';
import type { AnonymousBytes } from './anonymous-bytes.ts';
import type { ErasedIds } from './erased-ids.ts';
import { type KeptTrace, TraceRing } from './trace-ring.ts';
import { type GroupCommit, read } from './writer.ts';

export interface TraceBounds {
  clock: Clock;
  /** TRACE_RETENTION_DAYS, in ms. */
  retentionMs: number;
  /** Maximum number of traces; `TRACES_MAX` except in tests. */
  max: number;
  /** Maximum number of traces of refused requests; `REFUSED_MAX` except in tests. */
  refusedMax: number;
  anonymous: AnonymousBytes;
}

/** A trace that was inserted. */
export interface InsertedTrace {
  id: number;
  /** The size of its JSON, bytes. */
  bytes: number;
}

/** Traces as JSON, found by any of their ids. Traces of refused requests are in a separate table. */
export class SqliteTraces implements TraceStore {
  readonly #bounds: TraceBounds;
  readonly #commit: GroupCommit;
  readonly #kept: TraceRing;
  readonly #refused: TraceRing;
  readonly #erased: ErasedIds;

  constructor(db: Database.Database, commit: GroupCommit, erased: ErasedIds, bounds: TraceBounds) {
    this.#erased = erased;
    this.#bounds = bounds;
    this.#commit = commit;
    const { max, refusedMax, anonymous } = bounds;
    const foundMax = TRACES_FOUND_MAX;
    this.#kept = new TraceRing(db, 'traces', { max, foundMax, anonymous });
    this.#refused = new TraceRing(db, 'refused_traces', { max: refusedMax, foundMax, anonymous });
  }

  async keep(trace: TraceRecord): Promise<void> {
    await this.#commit.write(() => {
      if (!this.#isErased(trace)) this.insert(trace);
    });
  }

  async keepRefused(trace: TraceRecord, client: string | null = null): Promise<void> {
    await this.#commit.write(() => {
      if (this.#isErased(trace)) return;
      this.#refused.insert(trace, JSON.stringify(trace), this.#bounds.clock.now(), client);
    });
  }

  find(id: string): Promise<TraceRecord[]> {
    const colon = id.indexOf(':');
    const [channel, rest] = colon < 0 ? ['', ''] : [id.slice(0, colon), id.slice(colon + 1)];
    return this.#newest((ring) => ring.find(id, channel, rest));
  }

  findOf(user: TraceUser): Promise<TraceRecord[]> {
    return this.#newest((ring) => ring.findOf(user));
  }

  #newest(find: (ring: TraceRing) => KeptTrace[]): Promise<TraceRecord[]> {
    return read(() =>
      [this.#kept, this.#refused]
        .flatMap((ring) => find(ring).reverse())
        .sort((a, b) => a.kept_at - b.kept_at)
        .slice(-TRACES_FOUND_MAX)
        .map(({ trace }) => JSON.parse(trace) as TraceRecord),
    );
  }

  /** Within a commit: stores a trace. */
  insert(trace: TraceRecord): InsertedTrace {
    const json = JSON.stringify(trace);
    const id = this.#kept.insert(trace, json, this.#bounds.clock.now());
    return { id, bytes: Buffer.byteLength(json) };
  }

  /** Whether the trace belongs to a run that was under way when its session or its message was erased. */
  #isErased({ turn_id, session_id }: TraceRecord): boolean {
    return this.#erased.has(turn_id) || (session_id !== null && this.#erased.has(session_id));
  }

  /**
   * Within a commit: deletes at most `bite` traces that are too old or exceed the limit. @returns the number of deleted
   * traces.
   */
  deleteExpired(bite: number): number {
    const { clock, retentionMs } = this.#bounds;
    const expired = clock.now() - retentionMs;
    const kept = this.#kept.deleteOldest(expired, bite);
    return kept + this.#refused.deleteOldest(expired, bite - kept);
  }
}
