import { StoreUnavailable } from '../../../errors.ts';
import { type Run, run, runAfter, untilStored } from '../attempts.ts';
import { Batches } from '../batches.ts';
import { copyOf } from '../copy-of.ts';
import type { Entry, Kernel, Kind, Listener, Ring, RingQuery, StepOptions, Tx } from '../kernel.ts';
import { Pending, type Read, type Stored } from '../optimistic-tx.ts';
import type { Database } from './database.ts';
import { type FoundReads, Known, NOTHING, toArguments } from './known.ts';
import type { Notifications } from './notifications.ts';
import { originalKey, storedKey } from './stored-key.ts';
import { PostgresTx } from './transaction.ts';

/** How often a step is tried before it fails, because other steps change what it reads. */
const RETRIES = { max: 60, hurried: 1, step_ms: 2, max_ms: 100 };
/** How many rows one trip of `scan` reads. */
const SCANNED = 500;
/** How many trips a run may take until all that it reads is known. */
const TRIPS_MAX = 100;

/** What one step reads, and its time; null for the time of the server. */
type WantedReads = readonly [wanted: ReturnType<typeof toArguments>[], now: number | null];

interface StoredDocument {
  key: string;
  name: string | null;
  doc: string;
}

/** A step whose reads are known. */
interface Attempt {
  readonly work: (tx: Tx) => unknown;
  readonly owners: string[];
  readonly known: Known;
  readonly run: Run<PostgresTx>;
  readonly isLazy: boolean;
}

interface PostgresKernelParts {
  database: Database;
  notifications: Notifications;
  /** The time instead of that of the server, for tests. */
  now?: (() => number) | undefined;
}

/**
 * The kernel on a Postgres database. A step reads in one trip or a few, the last of which reads all of it at one moment,
 * and is stored in one more, if the documents that it has read have not changed since; otherwise it runs again. Steps of
 * the same process that are stored together see each other's changes, so that they need not run again.
 */
export class PostgresKernel implements Kernel {
  readonly description: string;
  readonly #database: Database;
  readonly #notifications: Notifications;
  readonly #now: () => number | null;
  readonly #reads: Batches<WantedReads, FoundReads>;
  readonly #commits: Batches<Attempt, Run<PostgresTx> | null>;
  readonly #hints: Batches<string, null>;
  #isClosed = false;
  /** Why the last commit, or any trip since, failed; null otherwise: a server may refuse to write what it can read. */
  #failure: string | null = null;

  constructor({ database, notifications, now }: PostgresKernelParts) {
    this.description = database.description;
    this.#database = database;
    this.#notifications = notifications;
    this.#now = () => now?.() ?? null;
    this.#reads = new Batches((steps) => this.#readAll(steps));
    this.#commits = new Batches((attempts) => this.#commitAll(attempts), measureShare);
    this.#hints = new Batches((hints) => this.#notifyAll(hints));
  }

  get failure(): string | null {
    return this.#failure;
  }

  async step<R>(work: (tx: Tx) => R, { lazy }: StepOptions = {}): Promise<R> {
    const owners: string[] = [];
    return untilStored(async () => {
      const found = await this.#run(work, owners);
      const stored = found.run.tx.hasEffect
        ? await this.#commits.add({ work, owners, ...found, isLazy: lazy === true })
        : found.run;
      if (stored === null) return null;
      for (const [channel, heard] of stored.tx.told) this.#tell(channel, heard);
      return { result: copyOf(stored.result) as R };
    }, RETRIES);
  }

  async *scan<T>(kind: Kind<T, unknown>): AsyncGenerator<Entry<T>> {
    for (let last: string | null = null; ; ) {
      const rows: StoredDocument[] = await this.#query<StoredDocument>(
        `SELECT key, name, doc FROM agentd_documents WHERE kind = $1 AND ($2::text IS NULL OR key > $2) AND (expires_at IS NULL OR expires_at > ${NOW})
         ORDER BY key LIMIT ${SCANNED}`,
        [kind.name, last, this.#now()],
      );
      for (const { key, name, doc } of rows) yield { key: originalKey(key, name), doc: JSON.parse(doc) as T };
      if (rows.length < SCANNED) return;
      last = rows.at(-1)?.key ?? null;
    }
  }

  async findRecords<R>(ring: Ring<R>, { id, isFound = () => true, limit }: RingQuery<R>): Promise<R[]> {
    const found: R[] = [];
    for await (const { record } of this.#records(ring, id)) {
      if (!isFound(record)) continue;
      found.push(record);
      if (found.length === limit) break;
    }
    return found.reverse();
  }

  async unlog<R>(ring: Ring<R>, isMeant: (record: R) => boolean): Promise<number> {
    const meant: string[] = [];
    for await (const { id, record } of this.#records(ring)) if (isMeant(record)) meant.push(id);
    await this.#query('DELETE FROM agentd_records WHERE id = ANY($1::bigint[])', [meant]);
    return meant.length;
  }

  watch(channel: string, hear: Listener): () => void {
    return this.#notifications.watch(channel, hear);
  }

  /**
   * Deletes one batch of expired documents, and of the oldest records of the rings. It waits for no step that is being
   * stored, and leaves what such a step has locked for the next time.
   * @param expired_ms only documents that expired at least this long ago: a step that read one before may be stored now
   * @returns how many.
   */
  async sweep(rings: readonly Ring<never>[], expired_ms: number): Promise<number> {
    const expired = await this.#query(
      `DELETE FROM agentd_documents WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM agentd_documents WHERE expires_at <= ${NOW_FIRST} - $2
         LIMIT ${SCANNED} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
      [this.#now(), expired_ms],
    );
    let swept = expired.length;
    for (const { name, max, retention_ms } of rings) {
      const old = await this.#query(
        `DELETE FROM agentd_records WHERE id = ANY(ARRAY(
           SELECT id FROM agentd_records WHERE ring = $2 AND (kept_at <= ${NOW_FIRST} - $3
             OR id <= (SELECT id FROM agentd_records WHERE ring = $2 ORDER BY id DESC OFFSET $4 LIMIT 1))
           ORDER BY id LIMIT ${SCANNED} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
        [this.#now(), name, retention_ms, max],
      );
      swept += old.length;
    }
    return swept;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#notifications.close();
    await this.#database.close();
  }

  /**
   * Runs the work until everything that it reads is known. Each trip reads all of it again: a run never sees documents
   * of different moments, so that its result and its exceptions are true.
   */
  async #run(work: (tx: Tx) => unknown, owners: string[]): Promise<Pick<Attempt, 'known' | 'run'>> {
    const wanted = new Map<string, Read>();
    let known = NOTHING;
    for (let trips = 0; trips <= TRIPS_MAX; trips++) {
      const found = run(work, new PostgresTx(known, owners, NO_CHANGES));
      const { missing } = found.tx;
      if (known !== NOTHING && missing.length === 0) {
        if (found.thrown !== null) throw found.thrown.error;
        return { known, run: found };
      }
      for (const read of missing) wanted.set(read.id, read);
      const reads = [...wanted.values()];
      known = new Known(reads, await this.#reads.add([reads.map(toArguments), this.#now()]));
    }
    throw new StoreUnavailable(new Error(`what a step reads has changed ${TRIPS_MAX} times`));
  }

  async #readAll(steps: readonly WantedReads[]): Promise<FoundReads[]> {
    const [row] = await this.#query<{ found: FoundReads[] }>('SELECT agentd_read($1::jsonb) AS found', [
      JSON.stringify(steps),
    ]);
    return row?.found ?? [];
  }

  /** @returns the run of each step that is stored; null for those that have to run again. */
  async #commitAll(attempts: readonly Attempt[]): Promise<(Run<PostgresTx> | null)[]> {
    const pending = new Pending<Stored>();
    const runs = attempts.map(({ work, owners, known, run: first }) =>
      runAfter(pending, first, () => run(work, new PostgresTx(known, owners, pending))),
    );
    const steps = runs.flatMap((one) =>
      one === null ? [] : [[one.tx.checks(), one.tx.writes(), one.tx.now]],
    );
    // The changes of lazy steps need not be on disk when they resolve.
    const text = attempts.every(({ isLazy }) => isLazy)
      ? "SELECT agentd_commit($1::jsonb) AS stored, set_config('synchronous_commit', 'off', true)"
      : 'SELECT agentd_commit($1::jsonb) AS stored';
    const [row] = await this.#query<{ stored: boolean[] }>(text, [JSON.stringify(steps)]);
    this.#failure = null;
    const stored = [...(row?.stored ?? [])];
    return runs.map((one) => (one !== null && stored.shift() === true ? one : null));
  }

  /** Calls the listeners of this process, and sends a hint to the others. */
  #tell(channel: string, heard: readonly unknown[]): void {
    this.#notifications.tell(channel, heard);
    this.#hints
      .add(this.#notifications.hint(channel, heard[0]))
      .catch((error: unknown) => this.#notifications.noteLost(error));
  }

  /**
   * Hints are sent after the commit, and not on disk: Postgres lets only one transaction that sends hints commit at a
   * time, and would make all daemons wait for the disk one after the other.
   */
  async #notifyAll(hints: readonly string[]): Promise<null[]> {
    await this.#query(
      `SELECT set_config('synchronous_commit', 'off', true), pg_notify(agentd_channel(), hint)
       FROM unnest($1::text[]) hint`,
      [[...new Set(hints)]],
    );
    return hints.map(() => null);
  }

  /** The records of a ring, newest first. */
  async *#records<R>(ring: Ring<R>, id?: string): AsyncGenerator<{ id: string; record: R }> {
    const start = '9223372036854775807';
    const since = await this.#query<{ id: string }>(
      'SELECT id FROM agentd_records WHERE ring = $1 ORDER BY id DESC OFFSET $2 LIMIT 1',
      [ring.name, ring.max],
    );
    for (let before = start; ; ) {
      const rows = await this.#query<{ id: string; record: string }>(
        `SELECT id, record FROM agentd_records
         WHERE ring = $1 AND id < $2::bigint AND kept_at > ${NOW} - $4 AND id > $5::bigint
           AND ($6::text IS NULL OR ids @> ARRAY[$6::text]) ORDER BY id DESC LIMIT ${SCANNED}`,
        [
          ring.name,
          before,
          this.#now(),
          ring.retention_ms,
          since[0]?.id ?? '0',
          id === undefined ? null : storedKey(id),
        ],
      );
      for (const row of rows) yield { id: row.id, record: JSON.parse(row.record) as R };
      if (rows.length < SCANNED) return;
      before = rows.at(-1)?.id ?? '0';
    }
  }

  async #query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (this.#isClosed) throw new StoreUnavailable(new Error('the store is closed'));
    try {
      return await this.#database.query<Row & Record<string, unknown>>(text, values);
    } catch (error) {
      if (error instanceof StoreUnavailable)
        this.#failure = error.cause instanceof Error ? error.cause.message : error.message;
      throw error;
    }
  }
}

const NOW = 'coalesce($3::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)';
const NOW_FIRST = NOW.replace('$3', '$1');

const NO_CHANGES = new Pending<Stored>();

/** How much one trip stores, in characters, and how many documents it locks. */
const STORED_MAX = 4_000_000;
const LOCKED_MAX = 300;

function measureShare({ run: { tx } }: Attempt): number {
  return tx.size / STORED_MAX + tx.checks().length / LOCKED_MAX;
}
