import type { RedisKeyspace } from './keyspace.ts';

/** How long a count of all shards is used, ms. */
const COUNTED_MS = 5000;

/** The bounds of the inbox in a Cluster. */
export interface InboxMax {
  /** Messages that have not ended. */
  open: number;
  /** Failed messages. */
  failed: number;
}

/**
 * Limits the inbox over all shards. Between two counts, this process adds the messages that it stores itself, so they
 * never exceed the limit. Messages that other daemons store between two counts may exceed it. Nothing is refused
 * without a new count, because messages end in the meantime.
 */
export class InboxBounds {
  readonly #redis: RedisKeyspace;
  readonly #max: InboxMax;
  #open = 0;
  #failed = 0;
  #counted_at = Number.NEGATIVE_INFINITY;

  constructor(redis: RedisKeyspace, max: InboxMax) {
    this.#redis = redis;
    this.#max = max;
  }

  /** Whether the inbox has room for more messages. If it has room, they are counted from now on. */
  async admit(messages: number): Promise<boolean> {
    if (this.#isOld || this.#open + messages > this.#max.open) await this.#count();
    if (this.#open + messages > this.#max.open) return false;
    this.#open += messages;
    return true;
  }

  /** Adds newly failed messages to the count. @returns the failed messages beyond the limit, oldest first. */
  async surplus(failed: number): Promise<{ shard: RedisKeyspace; id: string }[]> {
    this.#failed += failed;
    if (this.#isOld || this.#failed > this.#max.failed) await this.#count();
    const surplus = this.#failed - this.#max.failed;
    if (surplus <= 0) return [];
    const oldest = await Promise.all(this.#redis.shards.map((shard) => this.#oldestFailed(shard, surplus)));
    return oldest
      .flat()
      .sort((a, b) => a.ended_at - b.ended_at)
      .slice(0, surplus);
  }

  get #isOld(): boolean {
    return performance.now() - this.#counted_at > COUNTED_MS;
  }

  async #count(): Promise<void> {
    const counts = await Promise.all(
      this.#redis.shards.map(async (shard) => {
        const keys = ['all', 'ended', 'failed'].map((part) => shard.names.key('inbox', null, part));
        return (await shard.run('count-inbox', keys)) as [open: number, failed: number];
      }),
    );
    this.#open = counts.reduce((sum, [open]) => sum + open, 0);
    this.#failed = counts.reduce((sum, [, failed]) => sum + failed, 0);
    this.#counted_at = performance.now();
  }

  async #oldestFailed(shard: RedisKeyspace, count: number) {
    const key = shard.names.key('inbox', null, 'failed');
    const { client } = shard;
    const flat = await shard.send(() => client.zrange(key, 0, String(count - 1), 'WITHSCORES'));
    return flat.flatMap((id, place) =>
      place % 2 === 0 ? [{ shard, id, ended_at: Number(flat[place + 1]) }] : [],
    );
  }
}
