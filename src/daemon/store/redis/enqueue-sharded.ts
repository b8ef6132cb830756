import type { NewInboxMessage } from '../inbox.ts';
import { Bindings } from './bindings.ts';
import { type DueWatch, revisionKey } from './due-watch.ts';
import type { InboxBounds } from './inbox-bounds.ts';
import { seenName, storedMessage } from './inbox-message.ts';
import type { RedisKeyspace } from './keyspace.ts';

type Outcome = 'kept' | 'repeated';

/**
 * Stores messages in the shards of their queues. A message id of a platform is recognized in the shard of its queue, by
 * the script that stores the message: if the process dies before that, the message counts as new when the platform
 * delivers it again. The id is bound to that shard first, so that an edit finds the message, and so that a message with
 * the same id in another queue is recognized.
 *
 * A delivery with messages of several shards is not stored in one step. Nothing is acknowledged before all of it is
 * stored, and the messages that were stored are recognized when the platform delivers it again.
 */
export class EnqueueSharded {
  readonly #redis: RedisKeyspace;
  readonly #bounds: InboxBounds;
  readonly #watch: DueWatch;
  readonly #seen: Bindings;

  constructor(redis: RedisKeyspace, { bounds, watch }: { bounds: InboxBounds; watch: DueWatch }) {
    this.#redis = redis;
    this.#bounds = bounds;
    this.#watch = watch;
    this.#seen = new Bindings(redis, 'seen');
  }

  /** The shard in which a message of a platform is; null if the message is unknown. */
  shardOf(platform: string, message_id: string): Promise<RedisKeyspace | null> {
    return this.#seen.find(seenName(platform, message_id));
  }

  async enqueue(messages: readonly NewInboxMessage[]): Promise<Outcome[] | null> {
    const [last, known] = await Promise.all([this.#numbers(messages.length), this.#knownElsewhere(messages)]);
    const first = last - messages.length + 1;
    const fresh = messages
      .map((message, place) => ({ message, place, number: first + place }))
      .filter(({ place }) => !known[place]);
    if (!(await this.#fits(fresh.map(({ message }) => message)))) return null;
    const outcomes = messages.map((): Outcome => 'repeated');
    const shards = Map.groupBy(fresh, ({ message }) => this.#redis.at(message.queue));
    const stored = await Promise.all(
      [...shards].map(async ([shard, some]) => {
        const given = some.map(({ message, number }) => ({ ...storedMessage(message), number }));
        const key = shard.names.key('inbox', null, 'all');
        const kept = (await shard.run('enqueue', [key], JSON.stringify(given))) as Outcome[] | null;
        this.#watch.note(shard);
        some.forEach(({ place }, at) => {
          outcomes[place] = kept?.[at] ?? 'repeated';
        });
        return kept !== null;
      }),
    );
    return stored.every(Boolean) ? outcomes : null;
  }

  /** Reserves numbers, and returns the last of them. Messages of all shards are numbered in one order. */
  #numbers(count: number): Promise<number> {
    return this.#redis.send(() => this.#redis.client.incrby(revisionKey(this.#redis), count));
  }

  /** Whether each message is a repeat of an earlier message in the delivery, or of a message in another shard. */
  #knownElsewhere(messages: readonly NewInboxMessage[]): Promise<boolean[]> {
    const names = new Set<string>();
    return Promise.all(
      messages.map(async ({ platform, message_id, queue }) => {
        if (message_id === null) return false;
        const name = seenName(platform, message_id);
        if (names.has(name)) return true;
        names.add(name);
        const known = await this.#seen.bind(name, queue, async (shard) =>
          (await this.#wasEnqueued(shard, name)) ? true : null,
        );
        return known !== null;
      }),
    );
  }

  /**
   * Whether the inbox has room for the messages. Repeated messages need no room, but they are looked for only if there
   * seems to be no room.
   */
  async #fits(messages: readonly NewInboxMessage[]): Promise<boolean> {
    if (await this.#bounds.admit(messages.length)) return true;
    const isKnown = await Promise.all(
      messages.map(({ platform, message_id, queue }) => {
        if (message_id === null) return false;
        return this.#wasEnqueued(this.#redis.at(queue), seenName(platform, message_id));
      }),
    );
    const fresh = isKnown.filter((known) => !known).length;
    return fresh === 0 || (fresh < messages.length && (await this.#bounds.admit(fresh)));
  }

  async #wasEnqueued(shard: RedisKeyspace, name: string): Promise<boolean> {
    const key = shard.names.key('seen', name, 'facts');
    return (await shard.run('was-enqueued', [key], name)) === 1;
  }
}
