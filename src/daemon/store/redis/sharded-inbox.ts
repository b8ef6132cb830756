import type { GuardLimits } from '../../guard/verdict.ts';
import { Tickets } from '../../time/tickets.ts';
import { INBOX_FOUND_MAX } from '../bounds.ts';
import type {
  Arrival,
  AttemptKind,
  AttemptOutcome,
  InboxClaim,
  InboxCount,
  InboxEdit,
  InboxMessage,
  InboxState,
  InboxStore,
  NewInboxMessage,
  Screened,
  Taken,
} from '../inbox.ts';
import { type DueQueues, DueWatch } from './due-watch.ts';
import { EnqueueSharded } from './enqueue-sharded.ts';
import type { GuardDesk } from './guard-desk.ts';
import { type CommittedInbox, RedisInbox } from './inbox.ts';
import { InboxBounds, type InboxMax } from './inbox-bounds.ts';
import { newestOf } from './inbox-message.ts';
import type { RedisKeyspace } from './keyspace.ts';
import type { RedisOutages } from './outages.ts';

/**
 * The inbox in a Cluster. A queue and its messages are in the shard of the queue's name, so that a turn and its reply
 * are stored together. The inbox of a shard does everything that concerns only one of its queues. For everything else,
 * all shards are asked.
 */
export class ShardedInbox implements InboxStore, CommittedInbox {
  readonly #redis: RedisKeyspace;
  readonly #desk: GuardDesk;
  readonly #outages: RedisOutages;
  readonly #inboxes: ReadonlyMap<RedisKeyspace, RedisInbox>;
  readonly #bounds: InboxBounds;
  readonly #arrivals: EnqueueSharded;
  readonly #watch: DueWatch;
  readonly #screened = new Tickets();
  /** Number of messages that have failed with the commit of their turn since `#deleteSurplus` was last called. */
  #failed = 0;

  constructor(
    redis: RedisKeyspace,
    desk: GuardDesk,
    { outages, max }: { outages: RedisOutages; max: InboxMax },
  ) {
    this.#redis = redis;
    this.#desk = desk;
    this.#outages = outages;
    this.#inboxes = new Map(redis.shards.map((shard) => [shard, new RedisInbox(shard, desk)]));
    this.#bounds = new InboxBounds(redis, max);
    this.#watch = new DueWatch(redis);
    this.#arrivals = new EnqueueSharded(redis, { bounds: this.#bounds, watch: this.#watch });
  }

  async enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null> {
    return messages.length === 0 ? [] : this.#arrivals.enqueue(messages);
  }

  /**
   * Screens the messages of a queue one after the other. Several nodes are asked before a message is stored, and one of
   * them may be slow. Without this order, a later message of the queue could overtake an earlier one.
   */
  async screen(arrivals: readonly Arrival[], limits: GuardLimits): Promise<Screened> {
    const guarded = arrivals.map((arrival) => arrival.guarded);
    const queues = arrivals.map(({ message }) => message.queue);
    return this.#screened.inOrder(queues, () => this.#desk.judge({ guarded, limits, follow: arrivals }));
  }

  async edit(edit: InboxEdit): Promise<boolean> {
    const shard = await this.#arrivals.shardOf(edit.platform, edit.message_id);
    return shard !== null && this.#in(shard).edit(edit);
  }

  async claim(
    kind: AttemptKind,
    platforms: readonly string[],
    limit: number,
    which: 'fresh' | 'interrupted' = 'fresh',
  ): Promise<InboxClaim[]> {
    if (platforms.length === 0 || limit < 1) return [];
    const claims: InboxClaim[] = [];
    for (;;) {
      const wanted = { kind, platforms, which, limit: limit - claims.length };
      const { shards } = await this.#watch.toClaim(wanted);
      const some = await this.#claimIn(shards, (inbox, count) => inbox.claim(kind, platforms, count, which));
      claims.push(...some);
      // If another daemon was faster, other queues may be due.
      if (some.length === shards.length) return claims;
    }
  }

  async take(platforms: readonly string[], room: Readonly<Record<AttemptKind, number>>): Promise<Taken> {
    const outages = await this.#outages.list();
    const near = platforms.filter((name) => outages.every(({ platform }) => platform !== name));
    const lanes = [
      { kind: 'run', platforms, which: 'fresh', limit: room.run },
      { kind: 'send', platforms: near, which: 'fresh', limit: room.send },
    ] as const;
    const due = await this.#watch.toTake(platforms, lanes);
    if (due.some(({ interrupted }) => interrupted)) return { outages, interrupted: true, claims: [] };
    const claims = await Promise.all(
      lanes.map(async ({ kind, platforms: of }, place) => {
        const { shards } = due[place] as DueQueues;
        const some = await this.#claimIn(shards, (inbox, count) => inbox.claim(kind, of, count));
        const others = await this.claim(kind, of, shards.length - some.length);
        return [...some, ...others];
      }),
    );
    return { outages, interrupted: false, claims: claims.flat() };
  }

  renew(claim: InboxClaim): Promise<boolean> {
    return this.#of(claim).renew(claim);
  }

  noteReply(claim: InboxClaim, reply: string): void {
    this.#of(claim).noteReply(claim, reply);
  }

  noteFailed({ message }: InboxClaim): void {
    this.#failed++;
    this.#watch.note(this.#redis.at(message.queue));
  }

  async settle(claim: InboxClaim, outcome: AttemptOutcome): Promise<boolean> {
    const isSettled = await this.#of(claim).settle(claim, outcome);
    this.#watch.note(this.#redis.at(claim.message.queue));
    if (outcome.kind !== 'sent' && outcome.kind !== 'failed') await this.#watch.changed();
    const hasFailed = outcome.kind === 'failed' || (outcome.kind === 'sent' && claim.message.notice !== null);
    if (hasFailed) await this.#deleteSurplus(1);
    return isSettled;
  }

  async partsSent(id: string): Promise<number> {
    return (await this.#first(id, (inbox) => inbox.partsOf(id))) ?? 0;
  }

  async notePartsSent(id: string, parts: number): Promise<void> {
    if (parts > 0) await this.#first(id, (inbox) => inbox.partsOf(id, parts));
  }

  async expire(platform: string, stored_until: number, failure: string): Promise<number> {
    const expired = sum(await this.#each((inbox) => inbox.expire(platform, stored_until, failure)));
    if (expired > 0) await this.#deleteSurplus(expired);
    return expired;
  }

  async reap(): Promise<number> {
    if (this.#failed > 0) await this.#deleteSurplus(0);
    const reaped = await Promise.all(
      this.#redis.shards.map(async (shard) => {
        const some = await this.#in(shard).reap();
        if (some > 0) this.#watch.note(shard);
        return some;
      }),
    );
    if (reaped.some((some) => some > 0)) await this.#watch.changed();
    return sum(reaped);
  }

  async nextDueAt(kind: AttemptKind, platforms: readonly string[]): Promise<number | null> {
    const ask = (shard: RedisKeyspace) => this.#in(shard).nextDueAt(kind, platforms);
    return this.#watch.nextDueAt(kind, platforms, ask);
  }

  async holdsInterrupted(kind: AttemptKind, platforms: readonly string[]): Promise<boolean> {
    return (await this.#each((inbox) => inbox.holdsInterrupted(kind, platforms))).some(Boolean);
  }

  async list(filter: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]> {
    const found = await this.#each((inbox) => inbox.listNumbered(filter));
    return newestOf(found.flat(), filter.limit);
  }

  async counts(): Promise<InboxCount[]> {
    return addedUp((await this.#each((inbox) => inbox.counts())).flat());
  }

  find(id: string): Promise<InboxMessage | null> {
    return this.#first(id, (inbox) => inbox.find(id));
  }

  async search(id: string): Promise<InboxMessage[]> {
    const found = await this.#each((inbox) => inbox.searchNumbered(id));
    return newestOf(found.flat(), INBOX_FOUND_MAX);
  }

  async retry(id: string): Promise<boolean> {
    const retried = await this.#first(id, async (inbox) => ((await inbox.retry(id)) ? true : null));
    await this.#changedAnywhere();
    return retried ?? false;
  }

  async retryFailed(filter: { platform?: string; failed_since?: number }): Promise<string[]> {
    const retried = await this.#each((inbox) => inbox.retryNumbered(filter));
    await this.#changedAnywhere();
    return retried
      .flat()
      .sort((a, b) => a.number - b.number)
      .map(({ id }) => id);
  }

  async discard(id: string): Promise<boolean> {
    const discarded = await this.#first(id, async (inbox) => ((await inbox.discard(id)) ? true : null));
    await this.#changedAnywhere();
    return discarded ?? false;
  }

  /** Records that an administrator has changed messages. */
  async #changedAnywhere(): Promise<void> {
    for (const shard of this.#redis.shards) this.#watch.note(shard);
    await this.#watch.changed();
  }

  /** @param failed how many messages have just failed. */
  async #deleteSurplus(failed: number): Promise<void> {
    const all = this.#failed + failed;
    this.#failed = 0;
    for (const { shard, id } of await this.#bounds.surplus(all)) await this.#in(shard).discard(id);
  }

  /**
   * Claims queues in their order.
   * @param shards the shard of each queue.
   */
  async #claimIn(
    shards: readonly RedisKeyspace[],
    claim: (inbox: RedisInbox, count: number) => Promise<InboxClaim[]>,
  ): Promise<InboxClaim[]> {
    const counts = new Map<RedisKeyspace, number>();
    for (const shard of shards) counts.set(shard, (counts.get(shard) ?? 0) + 1);
    const claims = new Map(
      await Promise.all(
        [...counts].map(async ([shard, count]) => {
          const some = await claim(this.#in(shard), count);
          this.#watch.note(shard);
          return [shard, some] as const;
        }),
      ),
    );
    return shards.flatMap((shard) => claims.get(shard)?.shift() ?? []);
  }

  /**
   * A message is in the shard of its queue, and the daemon makes its id for that shard. So the first shard that is
   * searched almost always has the message.
   */
  async #first<T>(id: string, ask: (inbox: RedisInbox) => Promise<T | null>): Promise<T | null> {
    const found = await ask(this.#in(this.#redis.at(id)));
    return found ?? (await this.#each(ask)).find((one) => one !== null) ?? null;
  }

  #each<T>(ask: (inbox: RedisInbox) => Promise<T>): Promise<T[]> {
    return Promise.all([...this.#inboxes.values()].map(ask));
  }

  #of({ message }: InboxClaim): RedisInbox {
    return this.#in(this.#redis.at(message.queue));
  }

  #in(shard: RedisKeyspace): RedisInbox {
    return this.#inboxes.get(shard) as RedisInbox;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** One count for each platform and state. */
function addedUp(counts: readonly InboxCount[]): InboxCount[] {
  const groups = Map.groupBy(counts, ({ platform, state }) => JSON.stringify([platform, state]));
  return [...groups.values()].map((group) => ({
    ...(group[0] as InboxCount),
    messages: sum(group.map(({ messages }) => messages)),
    oldest_at: Math.min(...group.map(({ oldest_at }) => oldest_at)),
  }));
}
