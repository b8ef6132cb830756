import type { AttemptKind } from '../inbox.ts';
import type { Lane } from './inbox.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** How often all shards are asked, ms. In between, only some shards are asked. */
const TAKEN_MS = 1000;
/** How long the due time of the next message is remembered if no message was stored or changed since, ms. */
const DUE_MS = 5000;

/** The queues of one kind that may be claimed. */
export interface WantedQueues extends Lane {
  which: 'fresh' | 'interrupted';
  limit: number;
}

/** A queue whose first message is due. */
interface Head {
  shard: RedisKeyspace;
  /** How often the process of the message died; when it is due by the clock of its shard; its number. */
  order: readonly [interrupted: number, due: number, number: number];
}

/** The answer of one shard to a request. */
interface Look {
  interrupted: boolean;
  /** Whether an unclaimed message is waiting, due or not. */
  waits: boolean;
  heads: Head[];
}

export interface DueQueues {
  /** Whether an interrupted message is waiting. */
  interrupted: boolean;
  /** The shard of each queue to claim, in the order of the queues. */
  shards: RedisKeyspace[];
}

/**
 * Finds the queues that are due, in all shards. Asking every shard for each message would cost more than everything
 * else. So `take` asks only the shards in which this process has changed something, or in which messages are waiting.
 * Once a second, it asks all shards. That is often enough, because another daemon takes the messages that it has
 * stored, unless that daemon is busy or has died.
 */
export class DueWatch {
  readonly #redis: RedisKeyspace;
  /** Shards in which messages are waiting, as far as this process knows. */
  readonly #waiting = new Set<RedisKeyspace>();
  #platforms = '';
  #taken_at = Number.NEGATIVE_INFINITY;
  /** When the next messages are due, as of a revision of the inbox. */
  #due = { revision: '', at: 0, times: new Map<string, Promise<number | null>>() };

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  /** Records that this process has stored or changed messages in a shard. */
  note(shard: RedisKeyspace): void {
    this.#waiting.add(shard);
    this.#due.times.clear();
  }

  /** Tells other processes that there are waiting messages that they do not know of. */
  async changed(): Promise<void> {
    await this.#redis.send(() => this.#redis.client.incr(revisionKey(this.#redis)));
  }

  /** The queues to take, for each request up to its limit. */
  async toTake(platforms: readonly string[], asked: readonly WantedQueues[]): Promise<DueQueues[]> {
    const of = JSON.stringify(platforms);
    const isFull = of !== this.#platforms || performance.now() - this.#taken_at > TAKEN_MS;
    const shards = isFull ? this.#redis.shards : [...this.#waiting];
    if (isFull) [this.#platforms, this.#taken_at] = [of, performance.now()];
    for (const shard of shards) this.#waiting.delete(shard);
    const looks = await Promise.all(shards.map((shard) => this.#look(shard, asked))).catch((error) => {
      this.#taken_at = Number.NEGATIVE_INFINITY;
      throw error;
    });
    looks.forEach((lanes, place) => {
      if (lanes.some(({ waits }) => waits)) this.#waiting.add(shards[place] as RedisKeyspace);
    });
    return asked.map((wanted, place) =>
      choose(
        wanted,
        looks.map((lanes) => lanes[place] as Look),
      ),
    );
  }

  /** The queues to claim, from all shards. */
  async toClaim(wanted: WantedQueues): Promise<DueQueues> {
    const looks = await Promise.all(this.#redis.shards.map((shard) => this.#look(shard, [wanted])));
    return choose(
      wanted,
      looks.map(([look]) => look as Look),
    );
  }

  /** @param ask returns when the next message of a shard is due. */
  async nextDueAt(
    kind: AttemptKind,
    platforms: readonly string[],
    ask: (shard: RedisKeyspace) => Promise<number | null>,
  ): Promise<number | null> {
    const revision = await this.#redis.send(() => this.#redis.client.get(revisionKey(this.#redis)));
    const now = performance.now();
    if (revision !== this.#due.revision || now - this.#due.at > DUE_MS)
      this.#due = { revision: revision ?? '', at: now, times: new Map() };
    const name = JSON.stringify([kind, platforms]);
    const { times } = this.#due;
    const known = times.get(name) ?? this.#firstDue(ask);
    times.set(name, known);
    known.catch(() => times.delete(name));
    return known;
  }

  async #firstDue(ask: (shard: RedisKeyspace) => Promise<number | null>): Promise<number | null> {
    const times = await Promise.all(this.#redis.shards.map(ask));
    times.forEach((time, place) => {
      if (time !== null) this.#waiting.add(this.#redis.shards[place] as RedisKeyspace);
    });
    const known = times.filter((time) => time !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  async #look(shard: RedisKeyspace, asked: readonly WantedQueues[]): Promise<Look[]> {
    const key = shard.names.key('inbox', null, 'places');
    const lanes = (await shard.run('due-heads', [key], JSON.stringify(asked))) as number[][];
    return lanes.map(([interrupted, waits, ...flat]) => {
      const heads: Head[] = [];
      for (let place = 0; place < flat.length; place += 3)
        heads.push({ shard, order: flat.slice(place, place + 3) as unknown as Head['order'] });
      return { interrupted: interrupted === 1, waits: waits === 1, heads };
    });
  }
}

/**
 * The key of the number of the last message. The number also grows when a message becomes due at another time, so that
 * it shows whether anything has changed.
 */
export function revisionKey({ names }: RedisKeyspace): string {
  return names.key('inbox', null, 'number');
}

/**
 * Chooses the queues that are due first. The times of different shards are compared only for this order. Whether a
 * queue is due depends only on the clock of the queue's shard.
 */
function choose({ limit }: WantedQueues, looks: readonly Look[]): DueQueues {
  const heads = looks.flatMap((look) => look.heads).sort(byOrder);
  return {
    interrupted: looks.some(({ interrupted }) => interrupted),
    shards: heads.slice(0, limit).map(({ shard }) => shard),
  };
}

function byOrder({ order: a }: Head, { order: b }: Head): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
