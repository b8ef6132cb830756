import type { PersonKey } from '../identity/identity.ts';

/** Who sends, as the guard knows them (decisions §7); made by `user.ts`. */
export interface GuardUser {
  /** What windows and circuit are kept under. */
  key: string;
  platform: string;
  /** As the channel names them. */
  user_id: string;
  /** Of a valid token. */
  person: PersonKey | null;
  /** Client address, where that and the `user_id` together are all that is known. */
  address: string | null;
}

/** What the guard looks at in one message. */
export interface GuardedMessage {
  user: GuardUser;
  /** Its tag: the id that the session began with (`tagOf`). */
  session_id: string;
  /** Hash of the text; equal texts have equal ones (`equal-text.ts`). The text itself is not kept. */
  text: string;
  /** The platform's id: its first verdict stands for 7 days. Null: each check is a message of its own. */
  message_id: string | null;
  /** When the platform says it was sent, ms since the epoch; null: now, by the store's clock. */
  sent_at: number | null;
}

/** LOOP_GUARD_* (service.md, "Loop guard"), times in ms. */
export interface GuardLimits {
  max_messages: number;
  window_ms: number;
  cooldown_ms: number;
  max_turns: number;
  /** So many equal texts within the window open the circuit; at least 2. */
  repeat_threshold: number;
  repeat_window_ms: number;
  /** SESSION_TTL_SECONDS: how long the count of a session that is not there yet is kept. */
  session_ttl_ms: number;
}

/** What the guard says of a message. `repeated`: it said so before, and nothing was counted now. */
export type GuardVerdict = { repeated: boolean } & (Passed | BlockedByCircuit | BlockedByTurnLimit);

/** Let through: what was counted, this message included. */
export interface Passed {
  allowed: true;
  /** Messages of the user within the burst window. */
  messages: number;
  /** Of those within the repetition window, the ones with this text. */
  equal_texts: number;
  /** Turns of the session. */
  turns: number;
}

export interface BlockedByCircuit {
  allowed: false;
  reason: CircuitReason;
  /** This very message opened the circuit. */
  opened: boolean;
  /** What opened it: so many where `max` are let through. */
  count: number;
  max: number;
  /** Messages that this circuit has blocked, this one included. */
  blocked: number;
  /** ms until a message is let through again. */
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
  /** When the session ends if nothing more is said in it, ms since the epoch. */
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

/** An open circuit: nothing of its user is let through. Times are those of messages, ms since the epoch. */
export interface Circuit {
  reason: CircuitReason;
  count: number;
  max: number;
  opened_at: number;
  open_until: number;
  /** It also holds what was sent this early and comes late: it belongs to what opened the circuit. */
  covers_from: number;
  blocked: number;
}
