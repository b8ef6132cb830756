import type {
  BlockedByCircuit,
  BlockedByTurnLimit,
  Circuit,
  CircuitReason,
  GuardedMessage,
  GuardLimits,
  GuardUser,
  GuardVerdict,
  Passed,
  SessionTurns,
} from './verdict.ts';

/** A message that was counted. */
interface MessageHit extends Hit {
  /** The hash of its text. */
  readonly text: string;
  /** The `request` of a message that passed. Absent if it had none. */
  readonly request?: string | undefined;
}

/** The state that the guard stores about a user, under the user's key. */
export interface GuardUserState {
  /** The names in the latest message: one person may have several names on a channel, and several addresses. */
  readonly user: Omit<GuardUser, 'key'>;
  /** The circuit that was opened last, even if it is closed by now. */
  readonly circuit: Circuit | null;
  /** Oldest first. */
  readonly messages: readonly MessageHit[];
  /** The ids of the questions whose first answer counted for nothing; absent if there are none. */
  readonly answered?: readonly string[] | undefined;
}

/**
 * Maximum number of questions of one user whose first answer counts for nothing. None is forgotten as long as the user
 * writes: otherwise, answers to many questions in turn would never count.
 */
const ANSWERED_MAX = 20;

/** Everything that the verdict on a message depends on. A part is null if it is not stored, or has expired. */
export interface GuardState {
  /** The first verdict on this message, found by its platform and id. */
  readonly verdict: GuardVerdict | null;
  readonly user: GuardUserState | null;
  /**
   * The count of the session's turns. Its `ends_at` is when the session ends or, if the session is not stored, when the
   * count expires.
   */
  readonly turns: SessionTurns | null;
}

interface Judgement {
  verdict: GuardVerdict;
  /**
   * The state after the message. A part that did not change is the same object as before. If `turns` changed and was
   * not null before, the store must also end the session at the new `turns.ends_at`, unless it ends earlier.
   */
  state: GuardState;
  /** The state of the user must be stored at least until this time, ms since the epoch. */
  user_expires_at: number;
}

/**
 * The verdict on a message, and the changes that follow from it (agentd-message(7), "Loop guard"). The checks, in this
 * order: an earlier verdict on the same message or request, an open circuit, a burst, repetition, the turns of the
 * session. A message that passes, or is over the turn limit, counts as a message of its user. A message that a circuit
 * blocks counts in no window, and opening a circuit empties the windows: a message after the cooldown passes, as
 * `Retry-After` promises. A message without a text, such as a press of a button, counts nowhere, nor does the first answer
 * to a question.
 * @param now the time by the store's clock.
 */
export function judge(state: GuardState, given: GuardedMessage, limits: GuardLimits, now: number): Judgement {
  const { answers = null } = given;
  const { answered = [] } = state.user ?? {};
  const isFirstAnswer = answers !== null && answered.length < ANSWERED_MAX && !answered.includes(answers);
  const message = isFirstAnswer ? { ...given, text: null } : given;
  if (state.verdict !== null) {
    const user_expires_at = userExpiry(limits, now);
    return { verdict: { ...state.verdict, repeated: true }, state, user_expires_at };
  }
  if (hasPassed(state.user, message)) {
    const counts = { messages: 0, equal_texts: 0, turns: state.turns?.turns ?? 0 };
    return { verdict: { allowed: true, ...counts, repeated: true }, state, user_expires_at: now };
  }
  const { blocked, counts, user, hit, user_expires_at } = judgeUser(state.user, message, limits, now);
  const turn = blocked === null ? judgeTurn(state.turns, counts, message, limits, now) : null;
  const verdict = { ...(blocked ?? turn?.verdict), repeated: false } as GuardVerdict;
  const turns = turn === null ? state.turns : turn.turns;
  const counted = hit && (verdict.allowed ? { ...hit, request: message.request } : hit);
  const answering = isFirstAnswer ? { ...user, answered: [...answered, answers] } : user;
  const after = counted ? withHit(answering, counted, limits) : answering;
  return { verdict, state: { verdict, user: after, turns }, user_expires_at };
}

/** Whether a message of the same request has passed and is still counted. */
function hasPassed(user: GuardUserState | null, { request }: GuardedMessage): boolean {
  if (request === undefined) return false;
  return user?.messages.some((hit) => hit.request === request) ?? false;
}

function withHit(user: GuardUserState, hit: MessageHit, limits: GuardLimits): GuardUserState {
  return { ...user, messages: addHit(user.messages, hit, longestWindow(limits)) };
}

/** The result of checking a message against its user's windows and circuit. */
interface UserJudgement {
  /** The verdict if the message is blocked; null if it is not. */
  blocked: BlockedByCircuit | null;
  counts: Pick<Passed, 'messages' | 'equal_texts'>;
  /** The user's state after the message, without `hit`. The same object as before if it did not change. */
  user: GuardUserState;
  /** To be added to the messages of the user; null if the message is not counted. */
  hit: MessageHit | null;
  user_expires_at: number;
}

/** The part of `judge` that depends on the user alone, for a message that was not judged before. */
function judgeUser(
  found: GuardUserState | null,
  message: GuardedMessage,
  limits: GuardLimits,
  now: number,
): UserJudgement {
  const user_expires_at = userExpiry(limits, now);
  const at = Math.min(message.sent_at ?? now, now);
  const user = userAt(found, message.user, now, longestWindow(limits));
  const { circuit, messages } = user;
  if (circuit !== null && blocksAt(circuit, at)) {
    const counted = { ...circuit, blocked: circuit.blocked + 1 };
    return block(blockedBy(counted, at, false), { ...user, circuit: counted });
  }
  const { max_messages, window_ms, repeat_threshold, repeat_window_ms } = limits;
  if (message.text === null) {
    const counts = { messages: countWith(messages, at, window_ms) - 1, equal_texts: 0 };
    return { blocked: null, counts, user, hit: null, user_expires_at };
  }
  const burst = countWith(messages, at, window_ms);
  if (burst > max_messages) return open('rate_limit', burst, max_messages, window_ms);
  const equal_texts = countWith(messages, at, repeat_window_ms, ({ text }) => text === message.text);
  if (equal_texts >= repeat_threshold)
    return open('repetition', equal_texts, repeat_threshold - 1, repeat_window_ms);

  const hit = { at, counted_at: now, text: message.text };
  return { blocked: null, counts: { messages: burst, equal_texts }, user, hit, user_expires_at };

  function open(reason: CircuitReason, count: number, max: number, of_ms: number): UserJudgement {
    const opened: Circuit = {
      reason,
      count,
      max,
      opened_at: at,
      open_until: at + limits.cooldown_ms,
      covers_from: at - of_ms,
      blocked: 1,
    };
    // An old burst may be reported late. It does not end the cooldown of a newer burst.
    const isNewest = circuit === null || circuit.open_until <= opened.open_until;
    return block(
      blockedBy(opened, at, isNewest),
      isNewest ? { ...user, circuit: opened, messages: [] } : user,
    );
  }

  function block(blocked: BlockedByCircuit, after: GuardUserState): UserJudgement {
    return { blocked, counts: { messages: 0, equal_texts: 0 }, user: after, hit: null, user_expires_at };
  }
}

function longestWindow({ window_ms, repeat_window_ms }: GuardLimits): number {
  return Math.max(window_ms, repeat_window_ms);
}

function userExpiry(limits: GuardLimits, now: number): number {
  return now + longestWindow(limits) + limits.cooldown_ms;
}

/** The state of a user as it applies now, with the current names. The same object if nothing changes. */
function userAt(
  found: GuardUserState | null,
  { key: _, ...user }: GuardUser,
  now: number,
  keep_ms: number,
): GuardUserState {
  if (found === null) return { user, circuit: null, messages: [] };
  const circuit = circuitAt(found.circuit, now);
  const messages = hitsAt(found.messages, now, keep_ms);
  const same = circuit === found.circuit && messages === found.messages && isSame(found.user, user);
  return same ? found : { ...found, user, circuit, messages };
}

function isSame(a: GuardUserState['user'], b: GuardUserState['user']): boolean {
  return (
    a.platform === b.platform && a.user_id === b.user_id && a.person === b.person && a.address === b.address
  );
}

/**
 * The part of `judge` that depends on the session: counts a message that the user's windows do not block, unless it does
 * not count. The count expires at most `session_ttl_ms` from now, like a session that is used now.
 */
function judgeTurn(
  found: SessionTurns | null,
  counts: Pick<Passed, 'messages' | 'equal_texts'>,
  { text }: Pick<GuardedMessage, 'text'>,
  { max_turns: max, session_ttl_ms }: GuardLimits,
  now: number,
): { turns: SessionTurns | null; verdict: Passed | BlockedByTurnLimit } {
  if (text === null) return { turns: found, verdict: { allowed: true, ...counts, turns: found?.turns ?? 0 } };
  const latest = now + session_ttl_ms;
  const { turns, blocked } = found ?? { turns: 0, blocked: 0 };
  const ends_at = Math.min(found?.ends_at ?? latest, latest);
  if (turns >= max) {
    const after = { turns, blocked: blocked + 1, max, ends_at };
    return {
      turns: after,
      verdict: { allowed: false, reason: 'turn_limit', first: blocked === 0, ...after },
    };
  }
  // If the limit was raised, the session continues, and the first block at the new limit is reported again.
  const after = { turns: turns + 1, blocked: 0, max, ends_at };
  return { turns: after, verdict: { allowed: true, ...counts, turns: after.turns } };
}

/**
 * The circuit as it applies now, by the store's clock. If it was opened after `now`, the clock was set back, and the
 * circuit counts as opened at `now`. Null if it was opened further in the future than a circuit lasts.
 */
export function circuitAt(circuit: Circuit | null, now: number): Circuit | null {
  if (circuit === null || circuit.opened_at <= now) return circuit;
  const ahead = circuit.opened_at - now;
  if (ahead > circuit.open_until - circuit.opened_at) return null;
  return {
    ...circuit,
    opened_at: now,
    open_until: circuit.open_until - ahead,
    covers_from: circuit.covers_from - ahead,
  };
}

/** Whether the circuit blocks a message that was sent at `at`. */
function blocksAt({ covers_from, open_until }: Circuit, at: number): boolean {
  return covers_from < at && at < open_until;
}

/** The verdict on a message that a circuit blocks. @param opened whether this message opened the circuit. */
function blockedBy(
  { reason, count, max, blocked, open_until }: Circuit,
  at: number,
  opened: boolean,
): BlockedByCircuit {
  return { allowed: false, reason, opened, count, max, blocked, retry_after_ms: open_until - at };
}

/** A hit that was counted. Times are ms since the epoch. */
interface Hit {
  /** When it happened. */
  readonly at: number;
  /** When it was counted, by the store's clock: later than `at` if it was reported late. */
  readonly counted_at: number;
}

/**
 * How many hits a window would contain if one more hit happened at `at`, including that hit. Of all windows that
 * contain `at`, the window with the most hits counts, because a hit may be reported after later hits.
 * @param counts which hits count; all if it is absent.
 */
function countWith<H extends Hit>(
  hits: readonly H[],
  at: number,
  window_ms: number,
  counts?: (hit: H) => boolean,
): number {
  const from = firstAfter(hits, at - window_ms);
  const isNewest = at >= (hits.at(-1)?.at ?? at);
  if (counts === undefined && isNewest) return hits.length - from + 1;
  const times: number[] = [];
  for (const hit of hits.slice(from)) {
    if (hit.at >= at + window_ms) break;
    if (counts === undefined || counts(hit)) times.push(hit.at);
  }
  return isNewest ? times.length + 1 : maxHitsInWindow(times, at, window_ms);
}

/**
 * The hits with one more hit. The oldest hits are dropped if they can no longer matter, because `keep_ms` have passed both
 * since they happened and since they were counted. So a hit that was reported late is kept as long as other hits of the
 * same time may be reported.
 */
function addHit<H extends Hit>(hits: readonly H[], hit: H, keep_ms: number): readonly H[] {
  const matters = ({ at, counted_at }: H) =>
    at > hit.at - keep_ms || (counted_at > hit.counted_at - keep_ms && counted_at <= hit.counted_at);
  const oldest = hits.findIndex(matters);
  const kept = oldest < 0 ? [] : hits.slice(oldest);
  return kept.toSpliced(firstAfter(kept, hit.at), 0, hit);
}

/**
 * The hits as they apply now. If some are in the future, the clock was set back: then all are moved back by the same
 * amount, so that nobody waits longer than a window. If they would move by more than `keep_ms`, none of them counts.
 * @returns the same value if nothing changes.
 */
function hitsAt<H extends Hit>(hits: readonly H[], now: number, keep_ms: number): readonly H[] {
  const ahead = (hits.at(-1)?.at ?? now) - now;
  if (ahead <= 0) return hits;
  if (ahead > keep_ms) return [];
  return hits.map((hit) => ({
    ...hit,
    at: hit.at - ahead,
    counted_at: Math.min(hit.counted_at - ahead, now),
  }));
}

/** The index of the first hit that happened later than `after`. */
function firstAfter(hits: readonly Hit[], after: number): number {
  return hits.findLastIndex(({ at }) => at <= after) + 1;
}

/**
 * The maximum number of hits in any window that contains a hit at `at`, including that hit.
 * @param times the times of the other hits in ascending order, all less than a window away from `at`; ms.
 * @param window_ms hits that are less than this apart are in the same window.
 */
export function maxHitsInWindow(times: readonly number[], at: number, window_ms: number): number {
  const before = times.filter((time) => time <= at);
  const all = [...before, at, ...times.slice(before.length)];
  let most = 1;
  let last = before.length;
  for (let first = 0; first <= before.length; first++) {
    while (last + 1 < all.length && (all[last + 1] as number) < (all[first] as number) + window_ms) last++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
