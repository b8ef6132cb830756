import { Cluster, type Redis } from 'ioredis';
import { KeyNames, ShardedNames } from './key-names.ts';
import type { RedisLine, Reply } from './line.ts';
import { SHARD_TAGS, shardOf } from './shards.ts';

/** Number of keys that one step of `SCAN` examines. */
const SCAN_COUNT = 1000;

/**
 * The keys that are reached over a line: all of them or, in a Cluster, also those of one shard. A script uses keys of
 * one shard, so whoever changes several records in one step chooses their shard first (`at`).
 */
export class RedisConnection {
  readonly names: KeyNames;
  /** The shards of a Cluster; otherwise, the only one is this. */
  readonly shards: readonly RedisConnection[];
  readonly #line: RedisLine;
  readonly #byTag: ReadonlyMap<string, RedisConnection>;

  constructor(line: RedisLine, names?: KeyNames) {
    const isSharded = names === undefined && line.client instanceof Cluster;
    this.#line = line;
    this.names = names ?? (isSharded ? new ShardedNames() : new KeyNames());
    const tags = isSharded ? SHARD_TAGS : [];
    this.#byTag = new Map(tags.map((tag) => [tag, new RedisConnection(line, new KeyNames(tag))]));
    this.shards = isSharded ? [...this.#byTag.values()] : [this];
  }

  /** Whether keys are in different shards. */
  get isSharded(): boolean {
    return this.#byTag.size > 0;
  }

  /** The shard of the records that belong to this name, or to one that lies beside it. */
  at(name: string): RedisConnection {
    return this.isSharded ? this.tagged(shardOf(name)) : this;
  }

  /** The shard with this hash tag. */
  tagged(tag: string): RedisConnection {
    return this.#byTag.get(tag) ?? this;
  }

  /** The hash tag of this shard; empty for keys that have different ones. */
  get tag(): string {
    return this.names.tagIn('');
  }

  /** Whether the records of two names are in one shard. */
  lieTogether(one: string, other: string): boolean {
    return this.at(one) === this.at(other);
  }

  /**
   * Runs a named script (`RedisLine.run`).
   * @param keys the first one decides which node runs the script, and in which shard its other keys are.
   */
  run(name: string, keys: readonly string[], ...args: (string | number)[]): Promise<Reply> {
    const tag = this.names.tagIn(keys[0] as string);
    return this.#line.run(name, keys.length, [...keys, tag, this.#line.now?.() ?? '', ...args]);
  }

  /** @throws StoreUnavailable if the server is out of reach, or does not answer in time. */
  send<T>(work: () => Promise<T>): Promise<T> {
    return this.#line.send(work);
  }

  get client(): Redis | Cluster {
    return this.#line.client;
  }

  /** The servers that hold keys. */
  get nodes(): Redis[] {
    return this.#line.nodes;
  }

  /** Another client of the same server, for subscriptions. */
  another(): Redis | Cluster {
    return this.#line.another();
  }

  /** The time of the store, ms since the epoch. */
  now(): Promise<number> {
    if (this.#line.now) return Promise.resolve(this.#line.now());
    return this.send(async () => {
      const [seconds, micros] = (await this.client.time()) as [number | string, number | string];
      return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    });
  }

  /**
   * The keys that a pattern matches, on all nodes, in batches. Keys that are written in the meantime may be missing.
   */
  async *scan(pattern: string): AsyncGenerator<string[]> {
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
      // SCAN may name a key twice.
      const fresh = [...new Set(found.flatMap(([, keys]) => keys))].filter((key) => !seen.has(key));
      for (const key of fresh) seen.add(key);
      if (fresh.length > 0) yield fresh;
    }
  }
}
