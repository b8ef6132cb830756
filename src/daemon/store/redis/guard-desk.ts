import { judge } from '../../guard/judge.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import { afterVerdict } from '../after-verdict.ts';
import type { Arrival, NewInboxMessage, Screened } from '../inbox.ts';
import { Batch } from './batch.ts';
import type { Reply } from './connection.ts';
import { type GuardRead, noteTurns, noteUser, readGuard, writeGuard } from './guard-state.ts';
import { seenName, storedMessage } from './inbox-message.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { traceFields } from './traces.ts';
import { untilWritten } from './until-written.ts';

/** Maximum number of deliveries that a batch judges. */
export const JUDGED_MAX = 50;

/** Messages that the guard judges together. */
export interface Delivery {
  guarded: readonly GuardedMessage[];
  limits: GuardLimits;
  /**
   * The arrivals, if the consequences of the verdicts are stored together with the verdicts. Null: only the verdicts
   * are stored.
   */
  follow: readonly Arrival[] | null;
}

/** Runs the loop guard: reads the state, calls its rules, and writes what has changed. */
export interface GuardDesk {
  judge(delivery: Delivery): Promise<Screened>;
}

/**
 * The desk for one shard, or for a store without shards. It writes everything with one script, which first checks that
 * nothing has changed since it was read. Messages that arrive in the meantime are judged together.
 */
export class OneStepDesk implements GuardDesk {
  readonly #redis: RedisKeyspace;
  readonly #batch;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
    this.#batch = new Batch<Delivery, Screened>(JUDGED_MAX, (deliveries) =>
      untilWritten(() => this.#judge(deliveries)),
    );
  }

  judge(delivery: Delivery): Promise<Screened> {
    return this.#batch.ask(delivery);
  }

  /** Null if something was changed in the meantime. Nothing is written in that case. */
  async #judge(deliveries: readonly Delivery[]): Promise<Screened[] | null> {
    const asked = deliveries.flatMap(({ guarded }) => guarded);
    const read = await readGuard(
      this.#redis,
      asked.map((message) => ({
        user: message.user.key,
        tag: message.session_id,
        verdict: verdictName(message) ?? '',
      })),
    );
    const verdicts = deliveries.map(({ guarded, limits }) =>
      guarded.map((message) => judgeOne(read, message, limits)),
    );
    const followed = deliveries.map(({ follow }, place) =>
      (follow ?? []).map((arrival, at) =>
        afterVerdict(arrival, (verdicts[place] as GuardVerdict[])[at] as GuardVerdict, read.now),
      ),
    );
    const stored = followed.map((after) => after.flatMap(({ message }) => message ?? []));
    const traces = followed.flat().flatMap(({ trace }) => trace ?? []);
    const outcomes = await writeGuard(this.#redis, read, {
      traces: traces.map(traceFields),
      deliveries: stored.map((messages) => messages.map(storedMessage)),
    });
    if (outcomes === null) return null;
    return deliveries.map(({ follow }, place) => ({
      verdicts: verdicts[place] ?? [],
      outcomes: follow === null ? [] : outcomesOf(outcomes[place], followed[place] ?? []),
    }));
  }
}

/** The name under which the verdict on a message is stored; null if it is not stored. */
export function verdictName({ user, message_id }: GuardedMessage): string | null {
  return message_id === null ? null : seenName(user.platform, message_id);
}

/** The verdict on one message. Its changes are made in `read`, for the messages that follow. */
function judgeOne(read: GuardRead, message: GuardedMessage, limits: GuardLimits): GuardVerdict {
  const { user, session_id: tag } = message;
  const name = verdictName(message);
  const known = name === null ? undefined : read.verdicts.get(name)?.verdict;
  const before = {
    verdict: known === undefined ? null : JSON.parse(known),
    user: read.users.get(user.key)?.state ?? null,
    turns: read.counts.get(tag)?.count ?? null,
  };
  const { verdict, state: after, user_expires_at } = judge(before, message, limits, read.now);
  if (verdict.repeated) return verdict;
  if (name !== null) read.verdicts.set(name, { verdict: JSON.stringify(verdict), isNewOf: user.user_id });
  if (after.user !== null) noteUser(read, user.key, after.user, user_expires_at);
  if (after.turns !== null && after.turns !== before.turns) noteTurns(read, tag, after.turns);
  return verdict;
}

/** The outcome for each message or notice, by the index of the arrivals. */
export function outcomesOf(
  stored: Reply | undefined,
  followed: readonly { message: NewInboxMessage | null }[],
): Screened['outcomes'] {
  if (stored === null || stored === undefined) return null;
  const outcomes = [...(stored as ('kept' | 'repeated')[])];
  return followed.map(({ message }) => (message && outcomes.shift()) ?? null);
}
