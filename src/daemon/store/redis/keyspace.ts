import { Cluster, type Redis } from 'ioredis';
import { StoreUnavailable } from '../../errors.ts';
import type { RedisConnection, Reply } from './connection.ts';
import { KeyNames, ShardedNames } from './key-names.ts';
import { SHARD_TAGS, shardOf } from './shards.ts';
import { slotsOf } from './slots.ts';

/** Number of keys that one step of `SCAN` examines. */
const SCAN_COUNT = 1000;

/**
 * The keys of the store, by name. In a Cluster, there is also a keyspace for each shard (`at`). A script can use only
 * keys of one shard, so a caller that changes several records in one step runs its script in the keyspace of their
 * shard.
 */
export class RedisKeyspace {
  readonly names: KeyNames;
  /** The shards of a Cluster. Without a Cluster, this keyspace is the only one. */
  readonly shards: readonly RedisKeyspace[];
  readonly #connection: RedisConnection;
  readonly #byTag: ReadonlyMap<string, RedisKeyspace>;

  constructor(connection: RedisConnection, names?: KeyNames) {
    const isSharded = names === undefined && connection.client instanceof Cluster;
    this.#connection = connection;
    this.names = names ?? (isSharded ? new ShardedNames() : new KeyNames());
    const tags = isSharded ? SHARD_TAGS : [];
    this.#byTag = new Map(tags.map((tag) => [tag, new RedisKeyspace(connection, new KeyNames(tag))]));
    this.shards = isSharded ? [...this.#byTag.values()] : [this];
  }

  /** Whether keys are in different shards. */
  get isSharded(): boolean {
    return this.#byTag.size > 0;
  }

  /** The shard of the records that belong to this name. */
  at(name: string): RedisKeyspace {
    return this.isSharded ? this.tagged(shardOf(name)) : this;
  }

  /** The shard with this hash tag. */
  tagged(tag: string): RedisKeyspace {
    return this.#byTag.get(tag) ?? this;
  }

  /** The hash tag of this shard; empty if the keys have different hash tags. */
  get tag(): string {
    return this.names.tagIn('');
  }

  /** Whether the records of two names are in one shard. */
  lieTogether(one: string, other: string): boolean {
    return this.at(one) === this.at(other);
  }

  /**
   * Runs a named script (`RedisConnection.run`).
   * @param keys the first key decides which node runs the script, and in which shard its other keys are.
   */
  run(name: string, keys: readonly string[], ...args: (string | number)[]): Promise<Reply> {
    const tag = this.names.tagIn(keys[0] as string);
    const all = tag === '' ? keys : [...keys, absentKey(tag)];
    return this.#connection.run(name, all.length, [...all, tag, this.#connection.now?.() ?? '', ...args]);
  }

  /** @throws StoreUnavailable if the server cannot be reached, or does not answer in time. */
  send<T>(work: () => Promise<T>): Promise<T> {
    return this.#connection.send(work);
  }

  get client(): Redis | Cluster {
    return this.#connection.client;
  }

  /** The servers that store keys. */
  get nodes(): Redis[] {
    return this.#connection.nodes;
  }

  /** Another client of the same server, for subscriptions. */
  another(): Redis | Cluster {
    return this.#connection.another();
  }

  /** The time of the store, ms since the epoch. */
  now(): Promise<number> {
    if (this.#connection.now) return Promise.resolve(this.#connection.now());
    return this.send(async () => {
      const [seconds, micros] = (await this.client.time()) as [number | string, number | string];
      return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    });
  }

  /**
   * The keys that a pattern matches, on all nodes, in batches. Keys that are written in the meantime may be missing.
   * @throws StoreUnavailable also if slots of the Cluster are moved in the meantime: then other keys may be missing, too.
   */
  async *scan(pattern: string): AsyncGenerator<string[]> {
    const slots = await this.#slots();
    const seen = new Set<string>();
    let steps = this.nodes.map((node) => ({ node, cursor: '0' }));
    while (steps.length > 0) {
      const found = await Promise.all(
        steps.map(({ node, cursor }) =>
          this.send(() => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)),
        ),
      );
      steps = steps
        .map(({ node }, place) => ({ node, cursor: found[place]?.[0] ?? '0' }))
        .filter(({ cursor }) => cursor !== '0');
      // SCAN may return a key twice.
      const fresh = [...new Set(found.flatMap(([, keys]) => keys))].filter((key) => !seen.has(key));
      for (const key of fresh) seen.add(key);
      if (fresh.length > 0) yield fresh;
    }
    if ((await this.#slots()) !== slots)
      throw new StoreUnavailable(new Error('slots of the Cluster have been moved'));
  }

  /** Which node has which slots; null if this is no Cluster. */
  async #slots(): Promise<string | null> {
    return this.client instanceof Cluster ? this.send(() => slotsOf(this.nodes)) : null;
  }
}

/**
 * A key that never exists. Every script names it, so that both nodes of a Cluster refuse the script while the slot of the
 * shard is moved: because a key is missing, the old node answers ASK or TRYAGAIN, and the new node TRYAGAIN. Otherwise the
 * script would run without the keys that have been moved. `base.lua` removes it from KEYS.
 * @see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
 */
function absentKey(tag: string): string {
  return new KeyNames(tag).key('absent', null, 'key');
}
