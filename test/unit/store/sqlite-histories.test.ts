import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import type {
  Entry,
  IndexEntry,
  Kind,
  Ring,
  StepOptions,
  Tx,
} from '../../../src/daemon/store/kernels/kernel.ts';
import { openDatabase } from '../../../src/daemon/store/kernels/sqlite/database.ts';
import type { JournalBounds } from '../../../src/daemon/store/kernels/sqlite/journal.ts';
import { SqliteKernel } from '../../../src/daemon/store/kernels/sqlite/kernel.ts';
import { prepareLayout } from '../../../src/daemon/store/kernels/sqlite/layout.ts';
import { randomFrom, type SeededRandom } from '../../support/chance.ts';
import { effort } from '../../support/effort.ts';
import { type Failure, failing, failingToRead } from './failing-connection.ts';
import { fastStateDirectory } from './state-directory.ts';

// Random histories of a daemon and a command on one file, each with a connection of its own: many steps in one commit,
// commits and reads that fail, a clock that moves, sweeps, restarts and crashes. One of them may write much before the
// other looks. After that both must see what a simple model sees. `HISTORY_SEED=7` plays one history again, and
// `HISTORIES=1000` that many.

interface Thing {
  n: number;
  ends_at: number | null;
  group: string | null;
  wide: string | null;
}

const THING: Kind<Thing, number> = {
  name: 'thing',
  expires: ({ ends_at }) => ends_at,
  indexes: ({ n, group, wide }) => [
    ...(group === null ? [] : [[`group ${group}`, n] as const]),
    ...(wide === null ? [] : [[`wide ${wide}`, n] as const]),
  ],
  isWide: (index) => index.startsWith('wide '),
};
const CLAIM: Kind<{ owner: string; ends_at: number }> = {
  name: 'claim',
  expires: ({ ends_at }) => ends_at,
  isVolatile: true,
};
interface Logged {
  id: string;
  n: number;
}
const RING: Ring<Logged> = {
  ...{ name: 'ring', max: 1000, retention_ms: 1e9 },
  ids: ({ id }) => [id],
};
const KEYS = [...'abcdefghijklmn'];
const CLAIMS = ['p', 'q'];
const GROUPS = ['x', 'y'];

type Steps = Pick<Tx, 'get' | 'put' | 'delete' | 'append' | 'items' | 'rewrite' | 'first' | 'count' | 'log'>;
type Work = (tx: Steps) => unknown;
type Outcome = { value: unknown } | { error: string };

interface Stored {
  key: string;
  kind: string;
  doc: unknown;
  ends_at: number | null;
  items: unknown[];
}

/** What the store should have. */
class Model implements Steps {
  readonly #time: { now: number };
  readonly #documents: Map<string, Stored>;
  readonly #logged: Logged[];
  /** The documents that were written. */
  readonly touched = new Set<string>();

  constructor(time: { now: number }, of?: Model) {
    this.#time = time;
    this.#documents = new Map(of ? of.#documents : []);
    this.#logged = of ? [...of.#logged] : [];
    for (const name of of?.touched ?? []) this.touched.add(name);
  }

  /** @returns the model after the step; it is the same if the step fails. */
  after(work: Work): { model: Model; outcome: Outcome; touched: string[] } {
    const model = new Model(this.#time, this);
    model.touched.clear();
    try {
      const outcome = { value: work(model) };
      const touched = [...model.touched];
      for (const name of this.touched) model.touched.add(name);
      return { outcome, model, touched };
    } catch (error) {
      return { outcome: { error: (error as Error).message }, model: this, touched: [] };
    }
  }

  /** Takes over the documents that were written in another model. */
  adopt(other: Model, names: Iterable<string>): void {
    for (const name of names) {
      const stored = other.#documents.get(name);
      if (name === 'ring') this.#logged.splice(0, this.#logged.length, ...other.#logged);
      else if (stored) this.#documents.set(name, stored);
      else this.#documents.delete(name);
    }
  }

  get<T>(kind: Kind<T, unknown>, key: string): T | null {
    return (this.#alive(kind, key)?.doc as T | undefined) ?? null;
  }

  put<T>(kind: Kind<T, unknown>, key: string, doc: T): void {
    const items = this.#alive(kind, key)?.items ?? [];
    this.#set(kind, key, { key, kind: kind.name, doc, ends_at: kind.expires(doc), items });
  }

  delete(kind: Kind<never, unknown>, key: string): void {
    const isHere = this.#documents.delete(`${kind.name} ${key}`);
    if (isHere || kind.isVolatile) this.touched.add(`${kind.name} ${key}`);
  }

  append<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    this.rewrite(kind, key, [...this.items(kind, key), ...items]);
  }

  items<I>(kind: Kind<never, I>, key: string, after = 0): I[] {
    return (this.#alive(kind, key)?.items ?? []).slice(after) as I[];
  }

  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const found = this.#alive(kind, key);
    if (found) this.#set(kind, key, { ...found, items: [...items] });
  }

  first<T>(kind: Kind<T, unknown>, index: string, limit: number): Entry<T>[] {
    const score = (places: readonly IndexEntry[]) => places.find(([name]) => name === index)?.[1];
    return this.all(kind)
      .map((entry) => ({ ...entry, score: score(kind.indexes?.(entry.doc) ?? []) }))
      .filter((entry) => entry.score !== undefined)
      .sort((one, other) => Number(one.score) - Number(other.score) || (one.key < other.key ? -1 : 1))
      .slice(0, limit)
      .map(({ key, doc }) => ({ key, doc }));
  }

  count(kind: Kind<never, unknown>, index: string): number {
    return this.first(kind as Kind<unknown>, index, Number.POSITIVE_INFINITY).length;
  }

  log<R>(_ring: Ring<R>, record: R): void {
    this.#logged.push(record as Logged);
    this.touched.add('ring');
  }

  get logged(): readonly Logged[] {
    return this.#logged;
  }

  unlog(id: string): void {
    this.#logged.splice(0, this.#logged.length, ...this.#logged.filter((record) => record.id !== id));
  }

  all<T>(kind: Kind<T, unknown>): Entry<T>[] {
    return [...this.#documents.values()]
      .filter((stored) => stored.kind === kind.name && this.#alive(kind, stored.key) === stored)
      .map(({ key, doc }) => ({ key, doc: doc as T }))
      .sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  /** The claims are those of a new process. */
  replaceClaims(claims: readonly (readonly [string, { owner: string; ends_at: number } | null])[]): void {
    for (const [key, claim] of claims)
      if (claim === null) this.delete(CLAIM as Kind<never>, key);
      else this.put(CLAIM, key, claim);
    this.touched.clear();
  }

  #alive(kind: { name: string }, key: string): Stored | undefined {
    const found = this.#documents.get(`${kind.name} ${key}`);
    return found && (found.ends_at === null || found.ends_at > this.#time.now) ? found : undefined;
  }

  #set(kind: { name: string }, key: string, stored: Stored): void {
    this.#documents.set(`${kind.name} ${key}`, stored);
    this.touched.add(`${kind.name} ${key}`);
  }
}

/** A claim of the daemon. One that a command has taken ends its claim, and is dead to it. */
function ownClaim(tx: Steps, key: string) {
  const found = tx.get(CLAIM, key);
  return found?.owner.startsWith('daemon') ? found : null;
}

/** A step that no commit has stored yet, as far as the model knows. */
interface Issued {
  readonly work: Work;
  /** Whether it gets its result before the commit. */
  isAnswered: boolean;
  isCommitted: boolean;
  isRefused: boolean;
  /** Its last run in the model. */
  run: ReturnType<Model['after']> | null;
}

/** A kernel, and what the model knows of its steps. */
class Side {
  issued: Issued[] = [];
  /** What these steps see: the model after their last runs. */
  #seen: Model;
  /** Whether the commit that is under way will be reported as failed. */
  #isRefused = false;
  /** How many writes are left until one fails. */
  countdown = Number.POSITIVE_INFINITY;
  failure: Failure = { code: 'SQLITE_FULL', first: 'nothing' };
  /** How many reads are left until one fails. */
  reads = Number.POSITIVE_INFINITY;
  readFailure = 'SQLITE_BUSY';
  #isCommitting = false;
  /** How a read outside of a commit has failed, and with it the step that is beginning. */
  #failedRead: string | null = null;
  readonly db: Database.Database;
  readonly kernel: SqliteKernel;
  readonly isDaemon: boolean;
  readonly #world: World;

  constructor(world: World, isDaemon: boolean) {
    this.#world = world;
    this.#seen = world.durable;
    this.isDaemon = isDaemon;
    const written = (sql: string) => {
      if (sql === 'BEGIN IMMEDIATE') this.#isCommitting = true;
      if (sql === 'COMMIT') this.#committed();
    };
    const db = failingToRead(openDatabase(world.path), (sql) => this.#nextRead(sql));
    this.db = failing(db, (sql) => this.#next(sql), written);
    prepareLayout(this.db);
    this.db.pragma('busy_timeout = 0');
    this.kernel = new SqliteKernel({
      ...{ db: this.db, clock: { now: () => world.time.now }, isDaemon },
      journalBounds: world.journalBounds,
    });
  }

  #committed(): void {
    // Claims are in memory, so they are not changed by a commit that is reported as failed.
    const isOnDisk = (name: string) => !(this.isDaemon && this.#isRefused && name.startsWith('claim '));
    if (this.issued.length > 0)
      this.#world.durable.adopt(this.#seen, [...this.#seen.touched].filter(isOnDisk));
    this.#isRefused = false;
    for (const one of this.issued) one.isCommitted = true;
    this.issued = [];
  }

  #nextRead(sql: string): Failure | null {
    if (sql === 'BEGIN' || !this.db.inTransaction) this.#isCommitting = false;
    // The kernel reads what the other side has written. After that, it runs all waiting steps again.
    if (sql === 'SELECT min(id) FROM journal') this.#seen = this.#world.durable;
    if (this.reads-- !== 0) return null;
    const code = this.readFailure;
    if (!this.#isCommitting) this.#failedRead = code;
    else if (code !== 'SQLITE_BUSY') this.#refuse();
    return { code, first: 'nothing' };
  }

  /** The steps that nobody has an answer of fail with the commit. */
  #refuse(): void {
    for (const one of this.issued) one.isRefused = !one.isAnswered;
    this.issued = this.issued.filter(({ isRefused }) => !isRefused);
  }

  #next(sql: string): Failure | null {
    if (this.countdown-- !== 0) return null;
    const { failure } = this;
    if (failure.code === 'SQLITE_BUSY') return { ...failure, first: 'nothing' };
    // Only a commit can be completed and then fail.
    const first = failure.first === 'write' && sql !== 'COMMIT' ? 'nothing' : failure.first;
    const isKnown = sql !== 'COMMIT' || failure.code === 'SQLITE_FULL';
    const done = { ...failure, first: isKnown && first === 'write' ? ('nothing' as const) : first };
    for (const one of this.issued) one.isRefused = !one.isAnswered || !isKnown;
    if (done.first === 'write') this.#isRefused = true;
    else this.issued = this.issued.filter(({ isRefused }) => !isRefused);
    return done;
  }

  /** The kernel runs a step, perhaps again, with all that wait for the same commit. */
  #run(one: Issued): void {
    one.run = (this.issued.length === 0 ? this.#world.durable : this.#seen).after(one.work);
    if (this.issued.includes(one)) this.#seen = one.run.model;
  }

  async step(work: Work, options: StepOptions = {}): Promise<void> {
    const { onlyClaims = false, lazy = onlyClaims } = options;
    const one: Issued = { work, isAnswered: false, isCommitted: false, isRefused: false, run: null };
    const promise = this.kernel
      .step((tx) => {
        this.#run(one);
        return work(tx);
      }, options)
      .then(
        (value): Outcome => ({ value }),
        (error: Error): Outcome => {
          if (!(error instanceof StoreUnavailable)) return { error: error.message };
          if (!one.isRefused) throw error;
          return { error: 'refused' };
        },
      );
    const failedRead = this.#failedRead;
    this.#failedRead = null;
    if (failedRead !== null) {
      if (this.issued.length === 0) this.#seen = this.#world.durable;
      if (failedRead === 'SQLITE_BUSY') this.issued.push(one);
      else one.isRefused = true;
      const result = await promise;
      expect(result).toEqual(one.isRefused ? { error: 'refused' } : one.run?.outcome);
      return;
    }
    const { touched, model, outcome } = one.run as NonNullable<Issued['run']>;
    one.isAnswered = lazy && (onlyClaims || this.kernel.failure === null);
    const before = this.issued.length > 0 ? this.#seen.touched : new Set<string>();
    if (onlyClaims && !touched.some((name) => before.has(name))) {
      for (const other of [this.#world.durable, this.#seen]) other.adopt(model, touched);
    } else {
      this.#seen = model;
      this.issued.push(one);
    }
    const result = await promise;
    // It has read nothing that waits for the commit, so it does not run again.
    if (touched.length === 0 && !one.isCommitted) this.issued = this.issued.filter((other) => other !== one);
    if ('error' in result && result.error === 'refused') return;
    expect(result).toEqual(one.isCommitted && !one.isAnswered ? one.run?.outcome : outcome);
  }

  /** Writes everything. */
  async flush(): Promise<void> {
    this.countdown = Number.POSITIVE_INFINITY;
    this.reads = Number.POSITIVE_INFINITY;
    await this.kernel.write(() => undefined);
  }
}

class World {
  readonly time = { now: 1_000_000 };
  readonly path = join(fastStateDirectory(), 'agentd.db');
  readonly random: SeededRandom;
  readonly keys: readonly string[];
  readonly journalBounds: JournalBounds;
  durable = new Model(this.time);
  daemon: Side;
  command: Side;
  #n = 0;

  constructor(random: SeededRandom) {
    this.random = random;
    this.keys = KEYS.slice(0, random.pick([4, KEYS.length]));
    this.journalBounds = { length: random.pick([600, 600, 3000]), bite: 1 };
    new Database(this.path).close();
    this.daemon = new Side(this, true);
    this.command = new Side(this, false);
  }

  async close(): Promise<void> {
    for (const { kernel, db } of [this.daemon, this.command]) {
      await kernel.close();
      db.close();
    }
    rmSync(this.path);
  }

  /** Steps of both or of one of them, some of whose commits fail. */
  async batch(sides = [this.daemon, this.command]): Promise<void> {
    const { random } = this;
    for (const side of sides) {
      side.countdown = random.chance(0.25) ? random.below(8) : Number.POSITIVE_INFINITY;
      side.failure = {
        code: random.pick(['SQLITE_FULL', 'SQLITE_FULL', 'SQLITE_IOERR_FSYNC', 'SQLITE_BUSY']),
        first: random.pick(['nothing', 'rollback', 'write']),
      };
      side.reads = random.chance(0.25) ? random.below(12) : Number.POSITIVE_INFINITY;
      side.readFailure = random.pick(['SQLITE_BUSY', 'SQLITE_IOERR_READ']);
    }
    const steps: Promise<unknown>[] = [];
    for (let n = 1 + random.below(5); n > 0; n--) {
      const side = random.chance(0.3) ? (sides.at(-1) as Side) : (sides[0] as Side);
      const kind = random.below(10);
      if (side.isDaemon && kind < 2) steps.push(side.step(this.#claims(true), { onlyClaims: true }));
      else if (kind < 4) steps.push(side.step(this.#work(side.isDaemon), { lazy: true }));
      else steps.push(side.step(this.#work(side.isDaemon)));
      if (random.chance(0.2)) await nextTurn();
      if (random.chance(0.1)) steps.push(this.#maintain(sides));
    }
    await Promise.all(steps);
    for (const side of sides) await side.flush();
  }

  /** One of them writes while the other reads nothing. */
  async alone(): Promise<void> {
    const sides = [this.random.pick([this.daemon, this.command])];
    for (let n = 1 + this.random.below(12); n > 0; n--) {
      await this.batch(sides);
      if (this.random.chance(0.2)) this.time.now += this.random.below(40);
    }
  }

  #maintain(sides: readonly Side[]): Promise<unknown> {
    const { daemon, command, random, time } = this;
    const limit = 1 + random.below(4);
    const works: [Side, () => unknown][] = [
      [daemon, () => daemon.kernel.journal.deleteExpired(limit, time.now)],
      [daemon, () => daemon.kernel.journal.deleteExpired(limit, time.now)],
      [daemon, () => daemon.kernel.journal.shorten(0, limit, time.now)],
      [daemon, () => daemon.kernel.journal.empty(time.now)],
      [command, () => command.kernel.journal.empty(time.now)],
    ];
    const [side, work] = random.pick(works.filter(([of]) => sides.includes(of)));
    return side.kernel.write(work).catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnavailable));
  }

  /** Several steps of the command in one. */
  async together(): Promise<void> {
    const isFailing = this.random.chance(0.4);
    const { kernel } = this.command;
    const work = kernel.together(async () => {
      for (let n = 1 + this.random.below(8); n > 0; n--) await this.command.step(this.#work(false));
      if (isFailing) {
        this.command.issued = [];
        throw new RangeError('ended');
      }
    });
    if (isFailing) await expect(work).rejects.toThrow('ended');
    else await work;
  }

  /** Deletes records. */
  async unlog(): Promise<void> {
    const { random } = this;
    const meant = random.pick(this.keys);
    await random.pick([this.daemon, this.command]).kernel.unlog(RING, ({ id }) => id === meant);
    this.durable.unlog(meant);
  }

  /** A new daemon. Claims end with the process; a command's may be found again. */
  async restart(): Promise<void> {
    const { daemon } = this;
    if (this.random.chance(0.5)) await daemon.kernel.close();
    daemon.db.close();
    this.daemon = new Side(this, true);
    const claims = await this.daemon.kernel.step((tx) =>
      CLAIMS.map((key) => [key, tx.get(CLAIM, key)] as const),
    );
    expect(claims.filter(([, claim]) => claim?.owner.startsWith('daemon'))).toEqual([]);
    this.durable.replaceClaims(claims);
  }

  /** Another command. */
  async replaceCommand(): Promise<void> {
    await this.command.kernel.close();
    this.command.db.close();
    this.command = new Side(this, false);
  }

  #claims(isDaemon: boolean): Work {
    const { random, time } = this;
    const key = random.pick(CLAIMS);
    const owner = `${isDaemon ? 'daemon' : 'command'} ${this.#n++}`;
    const claim = { owner, ends_at: time.now + 20 + random.below(60) };
    if (!isDaemon)
      return random.chance(0.5) ? (tx) => tx.delete(CLAIM, key) : (tx) => tx.put(CLAIM, key, claim);
    const held = this.durable.get(CLAIM, key)?.owner;
    const take: Work = (tx) => (ownClaim(tx, key) === null ? tx.put(CLAIM, key, claim) : null) ?? null;
    return random.pick<Work>([
      take,
      take,
      (tx) => {
        const found = ownClaim(tx, key);
        if (found?.owner === held && found) tx.put(CLAIM, key, { ...found, ends_at: claim.ends_at });
        return found;
      },
      (tx) =>
        (held !== undefined && ownClaim(tx, key)?.owner === held ? tx.delete(CLAIM, key) : null) ?? null,
    ]);
  }

  #work(isDaemon: boolean): Work {
    const parts = Array.from({ length: 1 + this.random.below(3) }, () => this.#part(isDaemon));
    return (tx) => parts.map((part) => part(tx) ?? null);
  }

  #part(isDaemon: boolean): Work {
    const { random } = this;
    const n = this.#n++;
    const key = random.pick(this.keys);
    const thing: Thing = {
      n,
      group: random.pick([null, ...GROUPS]),
      wide: random.pick([null, ...GROUPS]),
      ends_at: random.chance(0.5) ? this.time.now + 1 + random.below(60) : null,
    };
    const claims = this.#claims(isDaemon);
    const exists = (tx: Steps) => tx.get(THING, key) !== null;
    const choice = random.below(100);
    if (choice < 30) return (tx) => tx.put(THING, key, thing);
    // Whether an expired document has a row to delete is known to the kernel only.
    if (choice < 40) return (tx) => (exists(tx) ? tx.delete(THING, key) : null);
    if (choice < 60) return (tx) => (exists(tx) ? tx.append(THING, key, [n, n + 0.5]) : null);
    if (choice < 64) return (tx) => (exists(tx) ? tx.rewrite(THING, key, [n]) : null);
    if (choice < 72)
      return (tx) => {
        const found = tx.get(THING, key);
        if (found !== null) tx.put(THING, key, { ...found, n: found.n + 1 });
        return found;
      };
    if (choice < 85)
      return (tx) => [tx.items(THING, key), tx.first(THING, 'group x', 2), tx.first(THING, 'wide y', 2)];
    if (choice < 97)
      return (tx) => {
        tx.log(RING, { id: key, n });
        return claims(tx);
      };
    return () => {
      throw new RangeError(`step ${n} fails`);
    };
  }

  async expectSame(where: string): Promise<void> {
    const work =
      (claims: readonly string[]): Work =>
      (tx) => [
        this.keys.map((key) => [
          tx.get(THING, key),
          tx.items(THING, key),
          tx.items(THING, key, 2),
          tx.items(THING, key, -2),
        ]),
        GROUPS.map((group) => [tx.first(THING, `group ${group}`, 3), tx.count(THING, `group ${group}`)]),
        GROUPS.map((group) => tx.first(THING, `wide ${group}`, 3)),
        claims.map((key) => ownClaim(tx, key)),
      ];
    const see = async ({ kernel, isDaemon }: Side) => {
      const scanned: Entry<Thing>[] = [];
      for await (const entry of kernel.scan(THING)) scanned.push(entry);
      scanned.sort((one, other) => (one.key < other.key ? -1 : 1));
      const logged = await kernel.findRecords(RING, { limit: 10_000 });
      const named = await kernel.findRecords(RING, { id: 'a', limit: 2 });
      return [await kernel.step(work(isDaemon ? CLAIMS : [])), scanned, logged, named];
    };
    const wanted = (isDaemon: boolean) => [
      work(isDaemon ? CLAIMS : [])(this.durable),
      this.durable.all(THING),
      this.durable.logged,
      this.durable.logged.filter(({ id }) => id === 'a').slice(-2),
    ];
    expect(await see(this.daemon), `${where}: the daemon`).toEqual(wanted(true));
    if (this.random.chance(0.5))
      expect(await see(this.command), `${where}: the command`).toEqual(wanted(false));
    if (!this.random.chance(0.1)) return;
    const other = new Side(this, false);
    expect(await see(other), `${where}: a new process`).toEqual(wanted(false));
    await other.kernel.close();
    other.db.close();
  }

  /** Each row of a list belongs to one document, and no claim of the daemon is on disk. */
  async expectTidy(): Promise<void> {
    await this.daemon.kernel.write(() => this.daemon.kernel.journal.empty(this.time.now));
    const { db } = this.daemon;
    const chain = db
      .prepare<[], { lists: number; rows: number }>(
        `WITH RECURSIVE chain (id) AS (
           SELECT last_item FROM docs WHERE last_item IS NOT NULL
           UNION ALL SELECT previous FROM items JOIN chain USING (id) WHERE previous IS NOT NULL
         ) SELECT (SELECT count(*) FROM chain) AS lists, (SELECT count(*) FROM items) AS rows`,
      )
      .get();
    expect(chain?.rows).toBe(chain?.lists);
    expect(db.prepare(`SELECT key FROM docs WHERE kind = 'claim' AND doc LIKE '%daemon%'`).all()).toEqual([]);
    expect(db.prepare('SELECT kind, key FROM docs GROUP BY kind, key HAVING count(*) > 1').all()).toEqual([]);
  }
}

async function play(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const world = new World(random);
  try {
    for (let n = 0; n < 40; n++) {
      await (random.chance(0.15) ? world.alone() : world.batch());
      if (random.chance(0.1)) await world.together();
      if (random.chance(0.1)) await world.unlog();
      if (random.chance(0.06)) await world.restart();
      if (random.chance(0.1)) await world.replaceCommand();
      await world.expectSame(`HISTORY_SEED=${seed}, batch ${n}`);
      if (random.chance(0.4)) world.time.now += random.below(40);
    }
    await world.expectTidy();
  } finally {
    // Thousands of histories would need more open files than a process may have.
    await world.close();
  }
}

const FIRST = Number(process.env.HISTORY_SEED ?? 1);
const COUNT = Number(process.env.HISTORIES ?? (process.env.HISTORY_SEED ? 1 : effort(8, 20_000)));
const SEEDS = Array.from({ length: COUNT }, (_, n) => FIRST + n);

it('after any steps, failures, sweeps and restarts, all processes see what a simple model sees', {
  timeout: 60_000 + SEEDS.length * 1000,
}, async () => {
  for (const seed of SEEDS)
    await play(seed).catch((error: unknown) => {
      throw new Error(`HISTORY_SEED=${seed}`, { cause: error });
    });
});
