import { judgeTurn, judgeUser, type UserJudgement } from '../../guard/judge.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import { afterVerdict } from '../after-verdict.ts';
import type { Arrival, InboxStore, Screened } from '../inbox.ts';
import { Batch } from './batch.ts';
import { type Delivery, type GuardDesk, JUDGED_MAX, outcomesOf, verdictName } from './guard-desk.ts';
import { type GuardRead, noteTurns, noteUser, readGuard, writeGuard } from './guard-state.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { traceFields } from './traces.ts';
import { untilWritten } from './until-written.ts';

/** A message to judge. */
interface Asked {
  message: GuardedMessage;
  limits: GuardLimits;
  /** The source of the trace that is stored with the verdict if the message is blocked. Null: no trace is stored. */
  arrival: Arrival | null;
}

/**
 * The result of checking a message against its user's windows and circuit. It is stored under the id of the message.
 */
interface ByUser extends Pick<UserJudgement, 'blocked' | 'counts'> {
  /** The session in which the message is counted. */
  tag: string;
}

/** A verdict, and the time by the clock of the shard that gave it. */
interface Judged {
  verdict: GuardVerdict;
  now: number;
}

/**
 * The desk for a Cluster, where a user and a session may be in different shards. The rules about the user depend only
 * on the user's windows and circuit. The rule about the session counts only messages that the user's rules do not
 * block. So a message is first judged and counted in the shard of its user, and then in the shard of its session. Each
 * step writes with one script, which first checks that nothing has changed since it was read. So two messages of a user
 * in two sessions cannot both pass a limit of one message.
 *
 * If the process dies between the two steps, nothing was acknowledged, and a platform delivers the message again. The
 * result of the first step is then found under the message's id. So the message is not counted for its user again, but
 * only for its session. It is stored in the inbox only after both steps, and the inbox recognizes it by its id. A
 * message without an id that was counted only for its user belongs to a request that failed.
 */
export class ShardedDesk implements GuardDesk {
  readonly #byUser: ReadonlyMap<RedisKeyspace, Batch<Asked, ByUser & Judged>>;
  readonly #bySession: ReadonlyMap<RedisKeyspace, Batch<Asked & ByUser, Judged>>;
  readonly #redis: RedisKeyspace;
  readonly #inbox: () => Pick<InboxStore, 'enqueue'>;

  /** @param inbox returns the inbox; called when the first message is stored. */
  constructor(redis: RedisKeyspace, inbox: () => Pick<InboxStore, 'enqueue'>) {
    this.#redis = redis;
    this.#inbox = inbox;
    this.#byUser = batches(redis, judgeByUser);
    this.#bySession = batches(redis, judgeBySession);
  }

  async judge({ guarded, limits, follow }: Delivery): Promise<Screened> {
    const asked = guarded.map((message, place) => ({ message, limits, arrival: follow?.[place] ?? null }));
    const byUsers = await Promise.all(asked.map((one) => this.#askUser(one)));
    // Messages of one session are judged in their order, even if they are from different users.
    const judged = await Promise.all(
      byUsers.map((byUser, place) =>
        byUser.blocked === null ? this.#askSession({ ...(asked[place] as Asked), ...byUser }) : byUser,
      ),
    );
    const verdicts = judged.map(({ verdict }) => verdict);
    if (follow === null) return { verdicts, outcomes: [] };
    const followed = follow.map((arrival, place) => {
      const { verdict, now } = judged[place] as Judged;
      return afterVerdict(arrival, verdict, now);
    });
    const stored = await this.#inbox().enqueue(followed.flatMap(({ message }) => message ?? []));
    return { verdicts, outcomes: outcomesOf(stored, followed) };
  }

  #askUser(asked: Asked): Promise<ByUser & Judged> {
    const shard = this.#redis.at(asked.message.user.key);
    return (this.#byUser.get(shard) as Batch<Asked, ByUser & Judged>).ask(asked);
  }

  #askSession(asked: Asked & ByUser): Promise<Judged> {
    const shard = this.#redis.at(asked.tag);
    return (this.#bySession.get(shard) as Batch<Asked & ByUser, Judged>).ask(asked);
  }
}

/** A batch for each shard. @param judge returns null if something was changed in the meantime. */
function batches<A, B>(
  redis: RedisKeyspace,
  judge: (shard: RedisKeyspace, asked: readonly A[]) => Promise<B[] | null>,
): Map<RedisKeyspace, Batch<A, B>> {
  return new Map(
    redis.shards.map((shard) => [
      shard,
      new Batch<A, B>(JUDGED_MAX, (asked) => untilWritten(() => judge(shard, asked))),
    ]),
  );
}

/** The beginning of the name under which the shard of a user remembers a message. */
export const BY_USER = 'by-user/';

async function judgeByUser(
  shard: RedisKeyspace,
  asked: readonly Asked[],
): Promise<(ByUser & Judged)[] | null> {
  const names = asked.map(({ message }) => {
    const name = verdictName(message);
    return { user: message.user.key, tag: '', verdict: name === null ? '' : `${BY_USER}${name}` };
  });
  const read = await readGuard(shard, names);
  const judged = asked.map(({ message, limits }, place): ByUser & Judged => {
    const name = names[place]?.verdict ?? '';
    const known = read.verdicts.get(name);
    if (known) return withVerdict(JSON.parse(known.verdict), true, read.now);
    const { key, user_id } = message.user;
    const found = read.users.get(key)?.state ?? null;
    const { blocked, counts, user, user_expires_at } = judgeUser(found, message, limits, read.now);
    noteUser(read, key, user, user_expires_at);
    const byUser = { blocked, counts, tag: message.session_id };
    if (name !== '') read.verdicts.set(name, { verdict: JSON.stringify(byUser), isNewOf: user_id });
    return withVerdict(byUser, false, read.now);
  });
  const blocked = asked.map((one, place) => {
    const known = judged[place] as ByUser & Judged;
    return known.blocked === null ? [] : traceOf(one, known);
  });
  return (await write(shard, read, blocked.flat())) ? judged : null;
}

/** Adds the verdict, which is final only if the message is blocked. */
function withVerdict(byUser: ByUser, repeated: boolean, now: number): ByUser & Judged {
  return { ...byUser, verdict: { ...byUser.blocked, repeated } as GuardVerdict, now };
}

async function judgeBySession(
  shard: RedisKeyspace,
  asked: readonly (Asked & ByUser)[],
): Promise<Judged[] | null> {
  const names = asked.map(({ message, tag }) => ({ user: '', tag, verdict: verdictName(message) ?? '' }));
  const read = await readGuard(shard, names);
  const judged = asked.map(({ message, limits, counts, tag }, place): Judged => {
    const name = names[place]?.verdict ?? '';
    const known = read.verdicts.get(name);
    if (known) return { verdict: { ...JSON.parse(known.verdict), repeated: true }, now: read.now };
    const count = read.counts.get(tag)?.count ?? null;
    const { turns, verdict: given } = judgeTurn(count, counts, message, limits, read.now);
    const verdict: GuardVerdict = { ...given, repeated: false };
    if (turns !== null && turns !== count) noteTurns(read, tag, turns);
    const { user_id } = message.user;
    if (name !== '') read.verdicts.set(name, { verdict: JSON.stringify(verdict), isNewOf: user_id });
    return { verdict, now: read.now };
  });
  const traces = asked.flatMap((one, place) => traceOf(one, judged[place] as Judged));
  return (await write(shard, read, traces)) ? judged : null;
}

/** The fields of the trace that a blocked message leaves. */
function traceOf({ arrival }: Asked, { verdict, now }: Judged): string[][] {
  const trace = arrival && afterVerdict(arrival, verdict, now).trace;
  return trace ? [traceFields(trace)] : [];
}

async function write(shard: RedisKeyspace, read: GuardRead, traces: string[][]): Promise<boolean> {
  return (await writeGuard(shard, read, { traces, deliveries: [] })) !== null;
}
