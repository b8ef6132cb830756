import type { PersonKey } from '../identity/identity.ts';
import type { Settings } from '../settings/settings.ts';

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
   * The platform's id of the message. The first verdict on it is valid for 7 days. Null: each check counts as a new
   * message.
   */
  message_id: string | null;
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
export function guardLimits(settings: Settings): GuardLimits {
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
