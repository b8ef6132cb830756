import { circuitAt, type GuardUserState, judge } from '../../guard/judge.ts';
import type {
  Circuit,
  GuardedMessage,
  GuardLimits,
  GuardUser,
  GuardVerdict,
  SessionTurns,
} from '../../guard/verdict.ts';
import { readSub } from '../../identity/identity.ts';
import { sessionTag } from '../../session/session.ts';
import { GUARD_LISTED_MAX } from '../bounds.ts';
import { noteSeen, seenMessage } from '../inbox/seen.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { findSession, putSession } from '../sessions/session-document.ts';
import { stepsOf } from '../steps-of.ts';

/** The loop guard's counters (agentd-message(7), "Loop guard"). The rules are in src/daemon/guard. */
export interface GuardStore {
  /**
   * Judges a message and counts it in all layers, in one atomic step. Exact even if many daemons ask at the same time.
   *
   * For a message with an id, the verdict and the counts are durable when it resolves. If the id was checked within the
   * last 7 days, the message gets its first verdict again and is not counted.
   *
   * For a message without an id, the verdict and the counts are durable with the next commit of the store. Therefore,
   * data that a request stores after the check is never durable without them, unless a commit failed in between. A
   * crash may lose the counts of requests that had stored nothing yet.
   *
   * For messages that are acknowledged before they are answered, see `InboxStore.screen`.
   */
  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict>;
  /**
   * Subtracts one turn from the count of a session, because a message passed the guard but did not run in this session.
   */
  giveBackTurn(session_tag: string): Promise<void>;
  /** Whether an open circuit blocks the messages of this user now. */
  isBlocked(user: GuardUser): Promise<boolean>;
  /**
   * The circuits that are open now, most recently opened first, and the sessions with blocked messages, latest end
   * first; at most 1000 of each.
   */
  list(): Promise<GuardList>;
  /**
   * Closes the circuits of a channel's user and empties the user's windows. This applies to everybody with that
   * `user_id`, and to the person with that `sub`. False if the guard stores nothing about them.
   */
  resetUser(platform: string, user: string): Promise<boolean>;
  /**
   * Resets the count of a session's turns to 0. The session is named by one of its two ids. False if there is no count.
   * The count also ends with its session.
   */
  resetSession(session_id: string): Promise<boolean>;
  /**
   * Closes all circuits, empties all windows, and resets all counts of turns to 0. Verdicts that were given are kept.
   */
  resetAll(): Promise<void>;
}

export interface GuardList {
  circuits: (Omit<GuardUser, 'key'> & Circuit)[];
  sessions: (SessionTurns & { session_id: string })[];
}

interface StoredGuardUser extends Pick<GuardUserState, 'user' | 'circuit' | 'answered'> {
  expires_at: number;
  since: number;
  messages: readonly StoredHit[];
}

/**
 * When a message was sent, ms after `since`, how much later it was counted, the hash of its text, and its `request` if it
 * passed with one.
 */
type StoredHit = readonly [after_ms: number, late_ms: number, text: string, request?: string];

export const GUARD_USER: Kind<StoredGuardUser> = {
  name: 'guard_user',
  expires: ({ expires_at }) => expires_at,
  isUnshared: true,
};

/** The count of a session's turns, by the tag of the session. A stored session and its count end together. */
export const GUARD_TURNS: Kind<SessionTurns> = {
  name: 'guard_turns',
  expires: ({ ends_at }) => ends_at,
  isUnshared: true,
};

export function guardStore(kernel: Kernel): GuardStore {
  const step = stepsOf(kernel);
  return {
    check: (message, limits) =>
      kernel.step(
        (tx) => checkMessage(tx, message, limits),
        message.message_id === null ? { lazy: true } : {},
      ),
    giveBackTurn: step(giveBackTurn),
    isBlocked: step((tx, { key }) => openCircuit(tx.get(GUARD_USER, key), tx.now) !== null),
    list: () => list(kernel),
    resetUser: (platform, name) => resetUser(kernel, platform, name),
    resetSession: step(resetSession),
    async resetAll() {
      for (const kind of [GUARD_USER, GUARD_TURNS] as const)
        for await (const { key } of kernel.scan<unknown>(kind as Kind<unknown>))
          await kernel.step((tx) => tx.delete(kind, key));
    },
  };
}

function giveBackTurn(tx: Tx, session_tag: string): void {
  const count = tx.get(GUARD_TURNS, session_tag);
  if (count !== null && count.turns > 0)
    tx.put(GUARD_TURNS, session_tag, { ...count, turns: count.turns - 1 });
}

/** The circuit of a user that is open now. */
function openCircuit(stored: StoredGuardUser | null, now: number): Circuit | null {
  const circuit = circuitAt(stored?.circuit ?? null, now);
  return circuit !== null && circuit.open_until > now ? circuit : null;
}

async function list(kernel: Kernel): Promise<GuardList> {
  const now = await kernel.step((tx) => tx.now);
  const circuits = [];
  for await (const { doc } of kernel.scan(GUARD_USER)) {
    const circuit = openCircuit(doc, now);
    if (circuit !== null) circuits.push({ ...doc.user, ...circuit });
  }
  const sessions = [];
  for await (const { key: tag, doc: count } of kernel.scan(GUARD_TURNS)) {
    if (count.blocked === 0) continue;
    const stored = await kernel.step((tx) => findSession(tx, tag));
    sessions.push({ session_id: stored?.session.session_id ?? tag, ...count });
  }
  return {
    circuits: circuits.sort((a, b) => b.opened_at - a.opened_at).slice(0, GUARD_LISTED_MAX),
    sessions: sessions.sort((a, b) => b.ends_at - a.ends_at).slice(0, GUARD_LISTED_MAX),
  };
}

async function resetUser(kernel: Kernel, platform: string, name: string): Promise<boolean> {
  let isFound = false;
  for await (const { key, doc } of kernel.scan(GUARD_USER)) {
    const { user } = doc;
    const isNamed = user.user_id === name || (user.person !== null && readSub(user.person) === name);
    if (user.platform !== platform || !isNamed) continue;
    isFound = true;
    await kernel.step((tx) => tx.delete(GUARD_USER, key));
  }
  return isFound;
}

function resetSession(tx: Tx, session_id: string): boolean {
  const stored = findSession(tx, session_id);
  const tag = stored === null ? session_id : sessionTag(stored.session);
  const isCounted = tx.get(GUARD_TURNS, tag) !== null;
  tx.delete(GUARD_TURNS, tag);
  return isCounted;
}

/** Judges a message, and stores the verdict together with all changes. */
export function checkMessage(tx: Tx, message: GuardedMessage, limits: GuardLimits): GuardVerdict {
  const { user, session_id: tag, message_id } = message;
  const stored = tx.get(GUARD_USER, user.key);
  const seen = seenMessage(tx, user.platform, message_id);
  const before = {
    verdict: seen.verdict,
    user: stored && unpacked(stored),
    turns: tx.get(GUARD_TURNS, tag),
  };
  const { verdict, state: after, user_expires_at } = judge(before, message, limits, tx.now);
  if (verdict.repeated) return verdict;
  noteSeen(tx, user.platform, message_id, { ...seen, verdict, user_id: user.user_id });
  if (after.user !== null) {
    const expires_at = Math.max(stored?.expires_at ?? 0, user_expires_at);
    tx.put(GUARD_USER, user.key, { ...packed(after.user), expires_at });
  }
  if (after.turns !== null && after.turns !== before.turns) putTurns(tx, tag, after.turns, before.turns);
  return verdict;
}

function unpacked({ since, messages, ...stored }: StoredGuardUser): GuardUserState {
  const hits = messages.map(([after_ms, late_ms, text, request]) => {
    const at = since + after_ms;
    return { at, counted_at: at + late_ms, text, ...(request === undefined ? {} : { request }) };
  });
  const { user, circuit, answered } = stored;
  return { user, circuit, messages: hits, answered };
}

function packed({ user, circuit, messages, answered }: GuardUserState): Omit<StoredGuardUser, 'expires_at'> {
  const since = messages[0]?.at ?? 0;
  const hits = messages.map(({ at, counted_at, text, request }): StoredHit => {
    const hit = [at - since, counted_at - at, text] as const;
    return request === undefined ? hit : [...hit, request];
  });
  return { user, circuit, since, messages: hits, ...(answered === undefined ? {} : { answered }) };
}

/**
 * Stores the count of a session. A session and its count end together: a new count gets the end of the session. If the
 * count existed before, both get the earlier of their ends.
 */
function putTurns(tx: Tx, tag: string, after: SessionTurns, before: SessionTurns | null): void {
  const session = findSession(tx, tag);
  const own = session?.session.expires_at;
  const ends_at = before === null ? (own ?? after.ends_at) : Math.min(after.ends_at, own ?? after.ends_at);
  if (session !== null && ends_at !== own)
    putSession(tx, { ...session, session: { ...session.session, expires_at: ends_at } });
  tx.put(GUARD_TURNS, tag, { ...after, ends_at });
}
