import { randomSuffix } from '../../clock.ts';
import { hitsOf, listHits } from '../../guard/hits.ts';
import { type GuardUserState, judge, type MessageHit } from '../../guard/judge.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict, SessionTurns } from '../../guard/verdict.ts';
import { afterVerdict } from '../after-verdict.ts';
import type { Arrival, NewInboxMessage, Screened } from '../inbox.ts';
import { Batch } from './batch.ts';
import type { RedisConnection, Reply } from './connection.ts';
import { seenName, storedMessage } from './inbox-message.ts';
import { traceFields } from './traces.ts';
import { untilWritten } from './until-written.ts';

/** Maximum number of deliveries that a batch judges. */
const BATCH_MAX = 50;

/** Messages that the guard judges together. */
export interface Delivery {
  guarded: readonly GuardedMessage[];
  limits: GuardLimits;
  /** The consequences of the verdicts are stored with them. Null: only the verdicts are stored. */
  follow: readonly Arrival[] | null;
}

/** Everything that verdicts depend on, as it was read and as it is after the verdicts. */
interface Read {
  now: number;
  users: Map<string, { read: string; state: GuardUserState | null; expires_at: number; isChanged: boolean }>;
  counts: Map<string, { read: string; count: SessionTurns | null; isChanged: boolean }>;
  /** By tag: when the session ends; null if there is no session. */
  sessions: Map<string, { read: string; ends_at: number | null }>;
  /** By the name of the message. */
  verdicts: Map<string, { verdict: GuardVerdict; isNew: boolean }>;
}

/**
 * Runs the loop guard: reads the state, calls `judge`, and writes everything with one script that compares what was
 * read. Messages that arrive in the meantime are judged together.
 */
export class GuardDesk {
  readonly #redis: RedisConnection;
  readonly #batch;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    this.#batch = new Batch<Delivery, Screened>(BATCH_MAX, (deliveries) =>
      untilWritten(() => this.#judge(deliveries)),
    );
  }

  judge(delivery: Delivery): Promise<Screened> {
    return this.#batch.ask(delivery);
  }

  /** Null if something was changed in the meantime: nothing is written. */
  async #judge(deliveries: readonly Delivery[]): Promise<Screened[] | null> {
    const read = await this.#read(deliveries.flatMap(({ guarded }) => guarded));
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
    const changes = {
      ...changesOf(read),
      traces: traces.map(traceFields),
      deliveries: stored.map((messages) => messages.map(storedMessage)),
    };
    const outcomes = isNothing(changes) ? changes.deliveries.map(() => []) : await this.#write(changes);
    if (outcomes === null) return null;
    return deliveries.map(({ follow }, place) => ({
      verdicts: verdicts[place] ?? [],
      outcomes: follow === null ? [] : outcomesOf(outcomes[place], followed[place] ?? []),
    }));
  }

  /**
   * Null if something was changed in the meantime. Otherwise the outcome for each delivery; null for a delivery that
   * does not fit into the inbox.
   */
  async #write(changes: object): Promise<Reply[] | null> {
    const key = this.#redis.names.key('inbox', null, 'all');
    const outcomes = await this.#redis.run('write-guard', [key], JSON.stringify(changes));
    return outcomes === 0 ? null : (outcomes as Reply[]);
  }

  async #read(messages: readonly GuardedMessage[]): Promise<Read> {
    const asked = messages.flatMap(({ user, session_id, message_id }) => [
      ...[user.key, session_id],
      message_id === null ? '' : seenName(user.platform, message_id),
    ]);
    const key = this.#redis.names.key('user', asked[0] as string, 'guard');
    const [now, ...found] = (await this.#redis.run('read-guard', [key], ...asked)) as [
      number,
      ...(string | null)[][],
    ];
    const read: Read = {
      now,
      users: new Map(),
      counts: new Map(),
      sessions: new Map(),
      verdicts: new Map(),
    };
    messages.forEach(({ user, session_id: tag, message_id }, place) => {
      const [verdict, version, value, expires_at, count, ends_at] = found[place] as (string | null)[];
      if (message_id !== null && verdict)
        read.verdicts.set(seenName(user.platform, message_id), {
          verdict: JSON.parse(verdict),
          isNew: false,
        });
      read.users.set(user.key, {
        read: version ?? '',
        state: value ? userStateOf(value) : null,
        expires_at: Number(expires_at ?? 0),
        isChanged: false,
      });
      read.counts.set(tag, { read: count ?? '', count: count ? countOf(count) : null, isChanged: false });
      read.sessions.set(tag, { read: ends_at ?? '', ends_at: ends_at ? Number(ends_at) : null });
    });
    return read;
  }
}

/** The verdict on one message. Its changes are made in `read`, for the messages that follow. */
function judgeOne(read: Read, message: GuardedMessage, limits: GuardLimits): GuardVerdict {
  const { user, session_id: tag, message_id } = message;
  const name = message_id === null ? null : seenName(user.platform, message_id);
  const windows = read.users.get(user.key) as NonNullable<ReturnType<Read['users']['get']>>;
  const counted = read.counts.get(tag) as NonNullable<ReturnType<Read['counts']['get']>>;
  const session = read.sessions.get(tag) as NonNullable<ReturnType<Read['sessions']['get']>>;
  const before = {
    verdict: (name === null ? undefined : read.verdicts.get(name)?.verdict) ?? null,
    user: windows.state,
    turns: counted.count,
  };
  const { verdict, state: after, user_expires_at } = judge(before, message, limits, read.now);
  if (verdict.repeated) return verdict;
  if (name !== null) read.verdicts.set(name, { verdict, isNew: true });
  if (after.user !== null) {
    windows.state = after.user;
    windows.expires_at = Math.max(windows.expires_at, user_expires_at);
    windows.isChanged = true;
  }
  if (after.turns !== null && after.turns !== before.turns) {
    // A session and its count end together. A new count ends with the session; otherwise the earlier end applies to
    // both.
    const first = Math.min(after.turns.ends_at, session.ends_at ?? after.turns.ends_at);
    const ends_at = before.turns === null ? (session.ends_at ?? first) : first;
    if (session.ends_at !== null) session.ends_at = ends_at;
    counted.count = { ...after.turns, ends_at };
    counted.isChanged = true;
  }
  return verdict;
}

function changesOf({ users, counts, sessions, verdicts }: Read) {
  const counted = [...counts].filter(([, { isChanged }]) => isChanged);
  return {
    users: [...users].flatMap(([key, { read, state, expires_at, isChanged }]) =>
      isChanged && state
        ? [{ key, read, version: randomSuffix(), value: storedUser(state), expires_at }]
        : [],
    ),
    counts: counted.map(([tag, { read, count }]) => ({ tag, read, ...(count as SessionTurns) })),
    sessions: counted.map(([tag]) => {
      const { read, ends_at } = sessions.get(tag) as { read: string; ends_at: number | null };
      return { tag, read, ...(ends_at !== null && String(ends_at) !== read && { ends_at }) };
    }),
    verdicts: [...verdicts].flatMap(([name, { verdict, isNew }]) =>
      isNew ? [{ name, verdict: JSON.stringify(verdict) }] : [],
    ),
  };
}

function isNothing(changes: Record<string, unknown[]>): boolean {
  const { deliveries = [], ...rest } = changes;
  return Object.values(rest).every((list) => list.length === 0) && deliveries.flat().length === 0;
}

/** The outcome for each message or notice, by the index of the arrivals. */
function outcomesOf(
  stored: Reply | undefined,
  followed: readonly { message: NewInboxMessage | null }[],
): Screened['outcomes'] {
  if (stored === null || stored === undefined) return null;
  const outcomes = [...(stored as ('kept' | 'repeated')[])];
  return followed.map(({ message }) => (message && outcomes.shift()) ?? null);
}

function countOf(text: string): SessionTurns {
  const [turns = 0, blocked = 0, max = 0, ends_at = 0] = text.split(' ').map(Number);
  return { turns, blocked, max, ends_at };
}

/** Hits are stored as tuples. */
function storedUser({ messages, ...rest }: GuardUserState): string {
  return JSON.stringify({
    ...rest,
    messages: listHits(messages).map(({ at, counted_at, text }) => [at, counted_at, text]),
  });
}

export function userStateOf(value: string): GuardUserState {
  const { messages, ...rest } = JSON.parse(value);
  const hits = (messages as [number, number, string][]).map(
    ([at, counted_at, text]): MessageHit => ({ at, counted_at, text }),
  );
  return { ...rest, messages: hitsOf(hits) };
}
