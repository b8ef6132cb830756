import type { PersonKey } from '../identity/identity.ts';
import type { Log } from '../process/log.ts';
import { shortId } from '../session/session.ts';
import type { Settings } from '../settings/settings.ts';
import { quoteValue } from '../texts/printable.ts';
import type { TraceLine } from '../trace/trace-record.ts';

/** The sender as the guard identifies them (agentd-message(7), "Loop guard"); made by `guardUser`. */
export interface GuardUser {
  /** The key of the sender's windows and circuit. */
  key: string;
  platform: string;
  /** The sender's id on the channel. */
  user_id: string;
  /** The person of a valid token. */
  person: PersonKey | null;
  /** The client address, if only that and the `user_id` identify the sender. */
  address: string | null;
}

/** The parts of a message that the guard reads. */
export interface GuardedMessage {
  user: GuardUser;
  /** The tag of the session: the id that it began with (`sessionTag`). */
  session_id: string;
  /**
   * The hash of the text (`textHash`). The text itself is not stored. Null: the message counts for nothing, and only an
   * open circuit blocks it.
   */
  text: string | null;
  /**
   * The id of the question that the text may answer; null or absent if there is none. Only the first such text of a user
   * counts for nothing: until it is processed, nobody knows that the others answer nothing.
   */
  answers?: string | null;
  /**
   * The platform's id of the message. The first verdict on it is valid for 7 days. Null: each check counts as a new
   * message.
   */
  message_id: string | null;
  /**
   * The hash of the key and the body of a request (`requestHash`). If a message with the same hash has passed and is
   * still counted, this message passes and is not counted again: requests with one key may arrive at the same time.
   * Absent: it has no key.
   */
  request?: string | undefined;
  /** When the message was sent according to the platform, ms since the epoch. Null: now, by the store's clock. */
  sent_at: number | null;
}

/** LOOP_GUARD_* of agentd-settings(5), times in ms. */
export interface GuardLimits {
  max_messages: number;
  window_ms: number;
  cooldown_ms: number;
  max_turns: number;
  /** This many equal texts within the window open the circuit; at least 2. */
  repeat_threshold: number;
  repeat_window_ms: number;
  /** SESSION_TTL_SECONDS: how long a count lasts if its session is not stored yet. */
  session_ttl_ms: number;
}

/** The verdict on a message. `repeated`: the verdict was given before, and nothing was counted this time. */
export type GuardVerdict = { repeated: boolean } & (Passed | BlockedByCircuit | BlockedByTurnLimit);

/** The message passed. All counts include it. */
export interface Passed {
  allowed: true;
  /** Messages of the user within the burst window. */
  messages: number;
  /** Messages with this text within the repetition window. */
  equal_texts: number;
  /** Turns of the session. */
  turns: number;
}

export interface BlockedByCircuit {
  allowed: false;
  reason: CircuitReason;
  /** Whether this message opened the circuit. */
  opened: boolean;
  /** The count that opened the circuit. It is more than `max`, because a count of `max` still passes. */
  count: number;
  max: number;
  /** Messages that this circuit has blocked, this one included. */
  blocked: number;
  /** ms until a message passes again. */
  retry_after_ms: number;
}

export interface BlockedByTurnLimit extends SessionTurns {
  allowed: false;
  reason: 'turn_limit';
  /** Whether this is the first blocked message of the session. */
  first: boolean;
}

/** The count of a session: turns that passed, and messages that were blocked since. */
export interface SessionTurns {
  turns: number;
  blocked: number;
  /** The limit at the time of the count. */
  max: number;
  /** When the session ends if no more messages arrive, ms since the epoch. */
  ends_at: number;
}

export type CircuitReason = 'rate_limit' | 'repetition';

/**
 * While a circuit is open, it blocks every message of its user. Its times are compared with the times of messages, ms
 * since the epoch.
 */
export interface Circuit {
  reason: CircuitReason;
  count: number;
  max: number;
  opened_at: number;
  open_until: number;
  /**
   * The circuit also blocks messages that were sent after this time and arrive late: they belong to the burst that
   * opened it.
   */
  covers_from: number;
  blocked: number;
}

/** The settings of the loop guard, times in ms. */
export function toGuardLimits(settings: Settings): GuardLimits {
  return {
    max_messages: settings.LOOP_GUARD_MAX_MESSAGES,
    window_ms: settings.LOOP_GUARD_WINDOW_SECONDS * 1000,
    cooldown_ms: settings.LOOP_GUARD_COOLDOWN_SECONDS * 1000,
    max_turns: settings.LOOP_GUARD_MAX_TURNS_PER_SESSION,
    repeat_threshold: settings.LOOP_GUARD_REPEAT_THRESHOLD,
    repeat_window_ms: settings.LOOP_GUARD_REPEAT_WINDOW_SECONDS * 1000,
    session_ttl_ms: settings.SESSION_TTL_SECONDS * 1000,
  };
}

// The documented log lines (agentd-message(7), "Log lines of the guard"): people search for their exact form.

type Named = Pick<GuardUser, 'platform' | 'user_id'>;

export function duplicateLine({ platform, user_id }: Named, message_id: string): string {
  return `[LoopGuard] DUPLICATE platform=${platform} user=${quoteValue(user_id)} message_id=${message_id}`;
}

export function circuitLine({ platform, user_id }: Named, { reason, count, max }: BlockedByCircuit): string {
  const figures = reason === 'rate_limit' ? `${count}/${max}` : `count=${count}`;
  return `[LoopGuard] CIRCUIT_OPEN reason=${reason} ${figures} platform=${platform} user=${quoteValue(user_id)}`;
}

export function turnLimitLine(session_id: string, { turns, max }: BlockedByTurnLimit): string {
  return `[LoopGuard] TURN_LIMIT session=${quoteValue(shortId(session_id))} turns=${turns}/${max}`;
}

/**
 * Logs the first blocked message when a circuit opens or a session reaches its limit, and each repeat of a blocked
 * message. Further blocked messages are counted, and logged at debug.
 */
export function logVerdict(
  verdict: GuardVerdict,
  { user, session_id, message_id }: GuardedMessage,
  request_id: string,
  log: Pick<Log, 'debug' | 'info' | 'warn'>,
): void {
  // If a message that passed arrives again, the inbox logs the repeat. The guard cannot know whether it is a repeat,
  // because the message may have been lost before it was stored the first time.
  if (verdict.allowed) return;
  if (verdict.repeated) {
    if (message_id !== null) log.info({ request_id }, duplicateLine(user, message_id));
  } else if (verdict.reason === 'turn_limit' && verdict.first) {
    log.warn({ request_id }, turnLimitLine(session_id, verdict));
  } else if (verdict.reason !== 'turn_limit' && verdict.opened) {
    log.warn({ request_id }, circuitLine(user, verdict));
  } else {
    const { reason, blocked } = verdict;
    log.debug({ request_id, reason, blocked }, 'message blocked by the loop guard');
  }
}

/** The line of a verdict in the trace: its reason, and the counters that show how near the limits were. */
export function verdictLine(verdict: GuardVerdict): Pick<TraceLine, 'reason' | 'detail'> {
  if (verdict.allowed) {
    const { messages, equal_texts, turns } = verdict;
    return { detail: { messages, equal_texts, turns } };
  }
  const { reason, max, blocked } = verdict;
  if (verdict.reason === 'turn_limit') return { reason, detail: { turns: verdict.turns, max, blocked } };
  return { reason, detail: { count: verdict.count, max, blocked, retry_after_ms: verdict.retry_after_ms } };
}
