import { hitsOf, listHits } from '../../guard/hits.ts';
import type { GuardUserState, MessageHit } from '../../guard/judge.ts';
import type { SessionTurns } from '../../guard/verdict.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { Reply } from './connection.ts';
import type { RedisKeyspace } from './keyspace.ts';

/**
 * The names of the records that the verdict on a message depends on. A name is empty if the verdict does not depend on
 * that record.
 */
export interface GuardNames {
  user: string;
  /** The tag of the session. */
  tag: string;
  /** The name under which the verdict is stored. */
  verdict: string;
}

/** Everything that verdicts depend on, as it was read and as it is after the verdicts. */
export interface GuardRead {
  now: number;
  users: Map<string, { read: string; state: GuardUserState | null; expires_at: number; isChanged: boolean }>;
  counts: Map<string, { read: string; count: SessionTurns | null; isChanged: boolean }>;
  /** By tag: when the session ends; null if there is no session. */
  sessions: Map<string, { read: string; ends_at: number | null }>;
  /** By name, as JSON. `isNewOf`: the user who wrote the message, if the verdict is new. */
  verdicts: Map<string, { verdict: string; isNewOf: string | null }>;
}

export async function readGuard(redis: RedisKeyspace, asked: readonly GuardNames[]): Promise<GuardRead> {
  const key = redis.names.key('user', asked[0]?.user ?? '', 'guard');
  const args = asked.flatMap(({ user, tag, verdict }) => [user, tag, verdict]);
  const [now, ...found] = (await redis.run('read-guard', [key], ...args)) as [number, ...(string | null)[][]];
  const read: GuardRead = {
    now,
    users: new Map(),
    counts: new Map(),
    sessions: new Map(),
    verdicts: new Map(),
  };
  asked.forEach(({ user, tag, verdict: name }, place) => {
    const [verdict, version, value, expires_at, count, ends_at] = found[place] as (string | null)[];
    if (verdict) read.verdicts.set(name, { verdict, isNewOf: null });
    read.users.set(user, {
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

/**
 * Writes what has changed since it was read, with the traces and messages that result from it.
 * @returns null if something was changed in the meantime. Nothing is written in that case. Otherwise the outcome for
 * each delivery; null for a delivery that does not fit into the inbox.
 */
export async function writeGuard(
  redis: RedisKeyspace,
  read: GuardRead,
  results: { traces: readonly string[][]; deliveries: readonly object[][] },
): Promise<Reply[] | null> {
  const changes = { ...changesOf(read), ...results };
  if (isNothing(changes)) return results.deliveries.map(() => []);
  const key = redis.names.key('inbox', null, 'all');
  const outcomes = await redis.run('write-guard', [key], JSON.stringify(changes));
  return outcomes === 0 ? null : (outcomes as Reply[]);
}

/** Changes the windows of a user. */
export function noteUser(read: GuardRead, key: string, state: GuardUserState, expires_at: number): void {
  const windows = read.users.get(key) as NonNullable<ReturnType<GuardRead['users']['get']>>;
  windows.state = state;
  windows.expires_at = Math.max(windows.expires_at, expires_at);
  windows.isChanged = true;
}

/** Changes the count of a session. @param after the count that `judge` returned. */
export function noteTurns(read: GuardRead, tag: string, after: SessionTurns): void {
  const counted = read.counts.get(tag) as NonNullable<ReturnType<GuardRead['counts']['get']>>;
  const session = read.sessions.get(tag) as NonNullable<ReturnType<GuardRead['sessions']['get']>>;
  // A session and its count end together. A new count gets the end of the session. Otherwise, both get the earlier of
  // their ends.
  const first = Math.min(after.ends_at, session.ends_at ?? after.ends_at);
  const ends_at = counted.count === null ? (session.ends_at ?? first) : first;
  if (session.ends_at !== null) session.ends_at = ends_at;
  counted.count = { ...after, ends_at };
  counted.isChanged = true;
}

function changesOf({ users, counts, sessions, verdicts }: GuardRead) {
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
    verdicts: [...verdicts].flatMap(([name, { verdict, isNewOf: user_id }]) =>
      user_id === null ? [] : [{ name, verdict, user_id }],
    ),
  };
}

function isNothing(changes: Record<string, readonly unknown[]>): boolean {
  const { deliveries = [], ...rest } = changes;
  return Object.values(rest).every((list) => list.length === 0) && deliveries.flat().length === 0;
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
