import { StoreUnavailable } from '../../../errors.ts';
import { type Run, run, runAfter, untilStored } from '../attempts.ts';
import { Batches } from '../batches.ts';
import { copyOf } from '../copy-of.ts';
import type { Entry, Kernel, Kind, Listener, Ring, RingQuery, StepOptions, Tx } from '../kernel.ts';
import { createRead, documentName, Pending, type Read } from '../optimistic-tx.ts';
import { Cache, RedisDocument, Versions } from './cache.ts';
import type { Changes } from './changes.ts';
import { type Command, sharedArguments, sized } from './commands.ts';
import type { RedisConnection, Reply } from './connection.ts';
import { ABSENT_KEY, channelKey, documentKey, EVERY_ENDS, EVERY_KEY, indexKey, ringKey } from './keys.ts';
import { scan, scanKeys } from './scan.ts';
import { RedisTx } from './transaction.ts';
import { type Found, type FoundRead, type SharedText, toArguments, View } from './view.ts';

/** How often a step is tried before it fails, because other steps change what it reads. */
const RETRIES = { max: 100, hurried: 2, step_ms: 1, max_ms: 20 };
/** How many trips a run may take until all that it reads is known. */
const TRIPS_MAX = 100;
/** How many records of a ring one trip examines. */
const EXAMINED = 1000;
/** How many records one command deletes. */
const UNLOGGED = 1000;

/** One try to run a step, and to store it. */
interface Attempt {
  readonly work: (tx: Tx) => unknown;
  readonly owners: string[];
  readonly view: View;
  readonly run: Run<RedisTx>;
}

interface RedisKernelParts {
  connection: RedisConnection;
  changes: Changes;
}

/**
 * The kernel on Redis. Documents that this process has read or written are in a cache, and a step that changes something
 * runs with them: it is stored in one trip, if they are still the same, and runs again otherwise. An answer without a
 * change, and an exception, are given only after a trip that has read everything at one moment.
 */
export class RedisKernel implements Kernel {
  readonly description: string;
  readonly #connection: RedisConnection;
  readonly #changes: Changes;
  readonly #cache = new Cache();
  readonly #versions = new Versions();
  readonly #reads: Batches<readonly Read[], Found>;
  readonly #commits: Batches<Attempt, Run<RedisTx> | null>;
  /** Documents of steps that are stored, but not durable yet: how many. */
  readonly #unsafe = new Map<string, number>();
  /** The number of the last trip. Trips are answered in their order. */
  #trip = 0;

  constructor({ connection, changes }: RedisKernelParts) {
    this.description = `redis ${connection.place}`;
    this.#connection = connection;
    this.#changes = changes;
    this.#reads = new Batches((wanted) => this.#readAll(wanted), NO_SHARE, false);
    this.#commits = new Batches((attempts) => this.#commitAll(attempts), measureShare, false);
  }

  async step<R>(work: (tx: Tx) => R, options: StepOptions = {}): Promise<R> {
    const owners: string[] = [];
    return untilStored(async () => {
      const attempt = await this.#prepare(work, owners);
      const isStored = attempt.run.tx.hasEffect && attempt.run.thrown === null;
      if (!isStored) return { result: await this.#answer<R>(attempt.run, options) };
      const stored = await this.#commits.add(attempt);
      return stored && { result: await this.#stored<R>(stored, options) };
    }, RETRIES);
  }

  async *scan<T>(kind: Kind<T, unknown>): AsyncGenerator<Entry<T>> {
    const of = kind as Kind<never, unknown>;
    for await (const keys of scanKeys(this.#connection, of)) {
      keys.sort();
      const view = new View(this.#cache, () => this.#connection.now());
      await this.#read(
        view,
        keys.map((key) => createRead('document', of, key)),
        true,
      );
      for (const key of keys) {
        const doc = view.readDoc(of, key);
        if (doc !== null) yield { key, doc: copyOf(doc) as T };
      }
    }
  }

  async findRecords<R>(ring: Ring<R>, { id, isFound = () => true, limit }: RingQuery<R>): Promise<R[]> {
    const found: R[] = [];
    for await (const { record } of this.#records(ring, id)) {
      if ((id !== undefined && !ring.ids(record).includes(id)) || !isFound(record)) continue;
      found.push(record);
      if (found.length === limit) break;
    }
    return found.reverse();
  }

  async unlog<R>(ring: Ring<R>, isMeant: (record: R) => boolean): Promise<number> {
    const meant: string[] = [];
    for await (const { place, record } of this.#records(ring)) if (isMeant(record)) meant.push(place);
    const key = ringKey(ring.name);
    const commands: Command[] = [];
    for (let place = 0; place < meant.length; place += UNLOGGED)
      commands.push(['XDEL', key, ...meant.slice(place, place + UNLOGGED)]);
    if (meant.length > 0) {
      commands.push(['REWRITE', key, ABSENT_KEY]);
      await this.#change(commands);
    }
    return meant.length;
  }

  watch(channel: string, hear: Listener): () => void {
    return this.#changes.watch(channel, hear);
  }

  /**
   * Deletes what has expired: keys, which the server deletes when they are looked at, their places in indexes, and records
   * that rings keep no longer.
   */
  async sweep(rings: readonly Ring<never>[]): Promise<void> {
    for await (const keys of scan(this.#connection, EVERY_KEY)) {
      const ends = keys.filter((key) => EVERY_ENDS.test(key));
      if (ends.length > 0)
        await this.#connection.run(
          'read',
          null,
          ends.flatMap((key) => ['c', ABSENT_KEY, key]),
        );
    }
    await this.#change(
      rings.map(({ name, max, retention_ms }) => ['TRIM', ringKey(name), max, retention_ms, ABSENT_KEY]),
    );
  }

  async close(): Promise<void> {
    this.#changes.close();
    this.#connection.close();
  }

  /** Runs commands, whatever is stored. */
  async #change(commands: readonly Command[]): Promise<void> {
    await this.#connection.run('commit', null, [this.#connection.now(), 0, 0, 0, ...sized(commands)]);
    if (this.#connection.lastsAll) await this.#connection.untilDurable();
  }

  #run({ work, owners, view }: Omit<Attempt, 'run'>, pending = NO_CHANGES): Run<RedisTx> {
    return run(work, new RedisTx(view, owners, pending, () => this.#versions.next()));
  }

  /**
   * Runs the work until everything that it reads is known. What it reads is checked when it is stored. If there is
   * nothing to store, all of it is read again at one moment.
   */
  async #prepare(work: (tx: Tx) => unknown, owners: string[]): Promise<Attempt> {
    const view = new View(this.#cache, () => this.#connection.now());
    const all = new Map<string, Read>();
    for (let trips = 0; trips <= TRIPS_MAX; trips++) {
      const attempt = { work, owners, view, run: this.#run({ work, owners, view }) };
      const { tx, thrown } = attempt.run;
      const { missing } = tx;
      const isChange = tx.hasEffect && thrown === null;
      if (missing.length === 0 && view.isFresh !== isChange) return attempt;
      for (const [id, read] of tx.reads) all.set(id, read);
      // After a trip that has read everything, the cache may know what else the step reads.
      if (view.isFresh) view.isFresh = false;
      else await this.#read(view, isChange ? missing : [...all.values()], !isChange);
    }
    throw new StoreUnavailable(new Error(`what a step reads has changed ${TRIPS_MAX} times`));
  }

  /** @param isAll whether nothing that was read before counts any longer */
  async #read(view: View, reads: readonly Read[], isAll: boolean): Promise<void> {
    const found = await this.#reads.add(reads);
    if (isAll) view.clear();
    view.isFresh = isAll;
    view.note(reads, found);
  }

  async #answer<R>({ tx, result, thrown }: Run<RedisTx>, { lazy }: StepOptions): Promise<R> {
    // An answer may tell what another step has stored, and must then be as durable.
    const isUnsafe = tx.checked.some(({ kind, key }) => this.#unsafe.has(documentName(kind.name, key)));
    if (isUnsafe && !lazy) await this.#connection.untilDurable();
    if (thrown !== null) throw thrown.error;
    return copyOf(result) as R;
  }

  async #stored<R>({ tx, result }: Run<RedisTx>, { lazy, claims, journal }: StepOptions): Promise<R> {
    const mustLast = journal ? this.#connection.lastsJournal : !lazy && !claims && this.#connection.lastsAll;
    if (mustLast) {
      const names = tx.changes.map(({ kind, key }) => documentName(kind.name, key));
      for (const name of names) this.#unsafe.set(name, (this.#unsafe.get(name) ?? 0) + 1);
      try {
        await this.#connection.untilDurable();
      } finally {
        for (const name of names) {
          const left = (this.#unsafe.get(name) ?? 0) - 1;
          if (left > 0) this.#unsafe.set(name, left);
          else this.#unsafe.delete(name);
        }
      }
    }
    for (const [channel, heard] of tx.told) this.#changes.tell(channel, heard);
    return copyOf(result) as R;
  }

  async #readAll(wanted: readonly (readonly Read[])[]): Promise<Found[]> {
    const trip = ++this.#trip;
    const all = wanted.flat();
    const shared = all.flatMap((read) => (isShared(read) ? [['p', read.of]] : []));
    const apart = this.#connection.isCluster ? shared : [];
    const together = this.#connection.isCluster ? [] : shared;
    const [[now, ...answers], ...others] = await Promise.all([
      this.#connection.run('read', null, [...all.flatMap(toArguments), ...together.flat()]),
      ...apart.map((read) => this.#connection.run('read', read[1] as string, read)),
    ]);
    const texts = [...answers.splice(all.length), ...others.map(([, text]) => text)] as (SharedText | null)[];
    let place = 0;
    return wanted.map((reads) => {
      const found = reads.map((read): FoundRead => {
        const answer = answers[place++];
        return isShared(read) ? { answer, text: texts.shift() ?? null } : { answer };
      });
      return { now: Number(now), trip, found };
    });
  }

  /** @returns the run of each step that is stored; null for those that have to run again. */
  async #commitAll(attempts: readonly Attempt[]): Promise<(Run<RedisTx> | null)[]> {
    const trip = ++this.#trip;
    const pending = new Pending<RedisDocument>();
    const runs = attempts.map((attempt) => this.#runAfter(pending, attempt));
    const sent = runs.flatMap((one) => (one === null ? [] : [one.tx]));
    if (sent.length === 0) return runs;
    const given = sent.flatMap((tx) => this.#buildArguments(tx));
    const [, ...replies] = await this.#connection.run('commit', null, given);
    const stored = await Promise.all(
      sent.map(async (tx, place) => {
        this.#learn(tx, replies[place], trip);
        return replies[place] === 1 && (!this.#connection.isCluster || this.#commitShared(tx));
      }),
    );
    return runs.map((one) => (one !== null && stored.shift() === true ? one : null));
  }

  /** The run of the step after those of earlier steps of the trip; null if it has to run again. */
  #runAfter(pending: Pending<RedisDocument>, attempt: Attempt): Run<RedisTx> | null {
    const found = runAfter(pending, attempt.run, () => this.#run(attempt, pending));
    if (!found?.tx.hasEffect) return null;
    // Later steps do not take these indexes for empty.
    for (const { kind, entries } of found.tx.changes)
      if (kind.isSparse)
        for (const [index] of entries) this.#cache.noteIndex(indexKey(kind.name, index), false);
    return found;
  }

  /** Notes what a step has stored, or what has kept it from being stored. */
  #learn({ changes, checked, empty }: RedisTx, reply: Reply | undefined, trip: number): void {
    if (!Array.isArray(reply)) {
      for (const { kind, key, after } of changes)
        if (!kind.shared) this.#cache.note(documentName(kind.name, key), after.at(trip));
      return;
    }
    for (let place = 0; place < reply.length; place += 2) {
      const number = Number(reply[place]);
      const index = empty[-number - 1];
      if (index !== undefined) this.#cache.noteIndex(index, false);
      const { kind, key } = checked[number - 1] ?? {};
      if (kind === undefined || key === undefined || kind.shared) continue;
      const stored = RedisDocument.of(reply[place + 1] as string | null, trip);
      this.#cache.note(documentName(kind.name, key), stored);
    }
  }

  #buildArguments(tx: RedisTx): (string | number)[] {
    const checks = tx.checked.flatMap(({ kind, key, stored }) => [
      documentKey(kind.name, key),
      stored.version,
    ]);
    const hints = tx.told.map(
      ([channel, [what]]): Command => ['PUBLISH', channelKey(channel), this.#changes.hint(channel, what)],
    );
    const shared = this.#connection.isCluster ? [] : tx.sharedCommands();
    const commands = [
      ...tx.commands(),
      ...shared.flatMap(({ command }) => (command === null ? [] : [command])),
      ...hints,
    ];
    const { empty } = tx;
    return [
      ...[tx.now, checks.length / 2, ...checks, empty.length, ...empty],
      ...[...sharedArguments(shared), ...sized(commands)],
    ];
  }

  /**
   * In a Cluster, shared texts are in other slots, and are stored after all that is beside them: one after the other, each
   * if it is still the same. If this process dies in between, the text is that of before. @returns whether all are stored
   */
  async #commitShared(tx: RedisTx): Promise<boolean> {
    for (const shared of tx.sharedCommands()) {
      if (shared.command === null) continue;
      const given = [tx.now, 0, 0, ...sharedArguments([shared]), ...sized([shared.command])];
      const [, reply] = await this.#connection.run('commit', shared.key, given);
      if (reply !== 1) return false;
    }
    return true;
  }

  /** The records of a ring, newest first. */
  async *#records<R>(ring: Ring<R>, id?: string): AsyncGenerator<{ place: string; record: R }> {
    const needle = id === undefined ? '' : `\n${id}\n`;
    let left = ring.max;
    for (let before = '+'; before !== '' && left > 0; left -= EXAMINED) {
      const count = Math.min(left, EXAMINED);
      const [now, found] = await this.#connection.run('read', null, [
        'r',
        ringKey(ring.name),
        before,
        count,
        needle,
      ]);
      const [next, ...entries] = found as string[];
      for (let place = 0; place < entries.length; place += 3) {
        const [at, time, record] = entries.slice(place, place + 3) as [string, string, string];
        if (Number(time) > Number(now) - ring.retention_ms)
          yield { place: at, record: JSON.parse(record) as R };
      }
      before = next ?? '';
    }
  }
}

const NO_CHANGES = new Pending<RedisDocument>();
const NO_SHARE = () => 0;

/** How much one trip stores, in characters, and how many documents it changes. */
const STORED_MAX = 4_000_000;
const CHANGED_MAX = 20_000;

function measureShare({ run: { tx } }: Attempt): number {
  return tx.size / STORED_MAX + tx.changes.length / CHANGED_MAX;
}

function isShared({ what, kind }: Read): boolean {
  return what === 'document' && kind?.shared !== undefined;
}
