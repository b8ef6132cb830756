import type { PersonKey } from '../identity/identity.ts';

/** The sender as the guard knows them (agentd-message(7), "Loop guard"); made by `guardUser`. */
export interface GuardUser {
  /** The key of their windows and circuit. */
  key: string;
  platform: string;
  /** Their id on the channel. */
  user_id: string;
  /** Of a valid token. */
  person: PersonKey | null;
  /** The client address if the sender is known by that and the `user_id` alone. */
  address: string | null;
}

/** The parts of a message that the guard reads. */
export interface GuardedMessage {
  user: GuardUser;
  /** Its tag: the id that the session began with (`tagOf`). */
  session_id: string;
  /** The hash of the text (`textHash`). The text itself is not stored. */
  text: string;
  /** The platform's id: its first verdict is valid for 7 days. Null: each check is a new message. */
  message_id: string | null;
  /** When the platform says it was sent, ms since the epoch; null: now, by the store's clock. */
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
  /** SESSION_TTL_SECONDS: how long the count of a session lives that is not stored yet. */
  session_ttl_ms: number;
}

/** The verdict on a message. `repeated`: it was given before, and nothing was counted now. */
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
  /** This very message opened the circuit. */
  opened: boolean;
  /** The count that opened it, more than the `max` that pass. */
  count: number;
  max: number;
  /** Messages that this circuit has blocked, this one included. */
  blocked: number;
  /** ms until a message passes again. */
  retry_after_ms: number;
}

export interface BlockedByTurnLimit {
  allowed: false;
  reason: 'turn_limit';
  /** The first message of the session that is blocked. */
  first: boolean;
  turns: number;
  max: number;
  blocked: number;
  /** When the session ends without further messages, ms since the epoch. */
  ends_at: number;
}

/** The count of a session: turns that passed, and messages that were blocked since. */
export interface SessionTurns {
  turns: number;
  blocked: number;
  /** The limit when they were counted. */
  max: number;
  /** ms since the epoch. */
  ends_at: number;
}

export type CircuitReason = 'rate_limit' | 'repetition';

/** While it is open, it blocks every message of its user. Its times are those of messages, ms since the epoch. */
export interface Circuit {
  reason: CircuitReason;
  count: number;
  max: number;
  opened_at: number;
  open_until: number;
  /** It also blocks messages that were sent after this and arrive late: they belong to the burst that opened it. */
  covers_from: number;
  blocked: number;
}
