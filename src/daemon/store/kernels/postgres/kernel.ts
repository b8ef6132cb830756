import { StoreUnavailable } from '../../../errors.ts';
import type { Entry, Kernel, Kind, Listener, Ring, RingQuery, StepOptions, Tx } from '../kernel.ts';
import { Batches } from './batches.ts';
import type { Database } from './database.ts';
import type { Notifications } from './notifications.ts';
import { Known, original, PostgresTx, type Read } from './transaction.ts';

/** How often a step is tried before it fails, because other steps change what it reads. */
const ATTEMPTS_MAX = 60;
/** How many rows one trip of `scan` reads. */
const SCANNED = 500;

/** What one step reads, and its time; null for the time of the server. */
type WantedReads = readonly [wanted: readonly Read[], now: number | null];

interface FoundReads {
  now: number;
  serial: string;
  answers: unknown[];
}

interface Commit {
  step: readonly [checks: unknown, writes: unknown, now: number, hints: readonly string[]];
  isLazy: boolean;
}

export interface PostgresKernelParts {
  database: Database;
  notifications: Notifications;
  /** The time instead of that of the server, for tests. */
  now?: (() => number) | undefined;
}

/**
 * The kernel on a Postgres database. A step reads in one trip or a few, and is stored in one, if the documents that it
 * has read have not changed since; otherwise it runs again.
 */
export class PostgresKernel implements Kernel {
  readonly description: string;
  readonly #database: Database;
  readonly #notifications: Notifications;
  readonly #now: () => number | null;
  readonly #reads: Batches<WantedReads, FoundReads>;
  readonly #commits: Batches<Commit, boolean>;
  #isClosed = false;
  /** Why the last trip failed; null if it succeeded. */
  #failure: string | null = null;

  constructor({ database, notifications, now }: PostgresKernelParts) {
    this.description = database.description;
    this.#database = database;
    this.#notifications = notifications;
    this.#now = () => now?.() ?? null;
    this.#reads = new Batches((steps) => this.#readAll(steps));
    this.#commits = new Batches((commits) => this.#commitAll(commits));
  }

  get failure(): string | null {
    return this.#failure;
  }

  async step<R>(work: (tx: Tx) => R, { lazy }: StepOptions = {}): Promise<R> {
    const owners: string[] = [];
    for (let attempt = 1; ; attempt++) {
      const { tx, result, trips } = await this.#run(work, owners);
      const writes = tx.writes();
      // What one trip has read is consistent.
      if (writes.length === 0 && trips === 1 && tx.told.length === 0) return result;
      if (await this.#commit(tx, writes, lazy === true)) return result;
      if (attempt === ATTEMPTS_MAX)
        throw new StoreUnavailable(new Error(`a step was overtaken ${ATTEMPTS_MAX} times`));
      await backOff(attempt);
    }
  }

  async *scan<T>(kind: Kind<T, unknown>): AsyncGenerator<Entry<T>> {
    for (let last = ''; ; ) {
      const rows = await this.#query<{ key: string; doc: string }>(
        `SELECT key, doc FROM agentd_documents WHERE kind = $1 AND key > $2 AND (expires_at IS NULL OR expires_at > ${NOW})
         ORDER BY key LIMIT ${SCANNED}`,
        [kind.name, last, this.#now()],
      );
      for (const { key, doc } of rows) yield { key: original(key), doc: JSON.parse(doc) as T };
      if (rows.length < SCANNED) return;
      last = rows.at(-1)?.key ?? '';
    }
  }

  async found<R>(ring: Ring<R>, { id, isFound = () => true, limit }: RingQuery<R>): Promise<R[]> {
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

  /** Deletes one batch of expired documents, and of the oldest records of the rings. @returns how many. */
  async sweep(rings: readonly Ring<never>[]): Promise<number> {
    const expired = await this.#query(
      `DELETE FROM agentd_documents WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM agentd_documents WHERE expires_at <= ${NOW_FIRST} LIMIT ${SCANNED})) RETURNING 1`,
      [this.#now()],
    );
    let swept = expired.length;
    for (const { name, max, retention_ms } of rings) {
      const old = await this.#query(
        `DELETE FROM agentd_records WHERE id = ANY(ARRAY(
           SELECT id FROM agentd_records WHERE ring = $2 AND (kept_at <= ${NOW_FIRST} - $3
             OR id <= (SELECT id FROM agentd_records WHERE ring = $2 ORDER BY id DESC OFFSET $4 LIMIT 1))
           ORDER BY id LIMIT ${SCANNED})) RETURNING 1`,
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

  /** Runs the work until everything that it reads is known. */
  async #run<R>(
    work: (tx: Tx) => R,
    owners: string[],
  ): Promise<{ tx: PostgresTx; result: R; trips: number }> {
    const known = new Known();
    for (let trips = 0; ; trips++) {
      const tx = new PostgresTx(known, owners);
      let result: R;
      try {
        result = work(tx);
      } catch (error) {
        if (tx.missing.length === 0) throw error;
        await this.#read(known, tx.missing);
        continue;
      }
      if (tx.missing.length === 0) return { tx, result, trips };
      await this.#read(known, tx.missing);
    }
  }

  async #read(known: Known, missing: readonly Read[]): Promise<void> {
    const found = await this.#reads.add([missing, known.base?.now ?? this.#now()]);
    known.base ??= { now: found.now, serial: Number(found.serial) };
    for (const [place, read] of missing.entries()) known.add(read, found.answers[place]);
  }

  async #commit(tx: PostgresTx, writes: readonly unknown[], isLazy: boolean): Promise<boolean> {
    const hints = tx.told.map(([channel, [change]]) => this.#notifications.hint(channel, change));
    const isStored = await this.#commits.add({ step: [tx.checks(), writes, tx.now, hints], isLazy });
    if (isStored) for (const [channel, heard] of tx.told) this.#notifications.tell(channel, heard);
    return isStored;
  }

  async #readAll(steps: readonly WantedReads[]): Promise<FoundReads[]> {
    const [row] = await this.#query<{ found: FoundReads[] }>('SELECT agentd_read($1::json) AS found', [
      JSON.stringify(steps),
    ]);
    return row?.found ?? [];
  }

  async #commitAll(commits: readonly Commit[]): Promise<boolean[]> {
    // The changes of lazy steps need not be on disk when they resolve.
    const text = commits.every(({ isLazy }) => isLazy)
      ? "SELECT agentd_commit($1::json) AS stored, set_config('synchronous_commit', 'off', true)"
      : 'SELECT agentd_commit($1::json) AS stored';
    const [row] = await this.#query<{ stored: boolean[] }>(text, [
      JSON.stringify(commits.map(({ step }) => step)),
    ]);
    return row?.stored ?? [];
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
        [ring.name, before, this.#now(), ring.retention_ms, since[0]?.id ?? '0', id ?? null],
      );
      for (const row of rows) yield { id: row.id, record: JSON.parse(row.record) as R };
      if (rows.length < SCANNED) return;
      before = rows.at(-1)?.id ?? '0';
    }
  }

  async #query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (this.#isClosed) throw new StoreUnavailable(new Error('the store is closed'));
    try {
      const rows = await this.#database.query<Row & Record<string, unknown>>(text, values);
      this.#failure = null;
      return rows;
    } catch (error) {
      if (error instanceof StoreUnavailable)
        this.#failure = error.cause instanceof Error ? error.cause.message : error.message;
      throw error;
    }
  }
}

const NOW = 'coalesce($3::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)';
const NOW_FIRST = NOW.replace('$3', '$1');

/** Waits for a short random time that grows with each attempt, so that steps do not overtake each other again. */
function backOff(attempt: number): Promise<void> {
  const ms = Math.random() * Math.min(100, 2 * attempt);
  return new Promise((resolve) => setTimeout(resolve, ms));
}
