import type {
  BlockedByCircuit,
  BlockedByTurnLimit,
  Circuit,
  CircuitReason,
  GuardLimits,
  Passed,
} from './verdict.ts';

/** What a window says of a hit; `count` includes the hit. One that is not allowed is not counted. */
export interface Hit {
  allowed: boolean;
  count: number;
}

/** The state of one message's user and session; changed at once, or not at all. */
export interface GuardState {
  /** The circuit that was opened last, open or not. */
  circuit(): Circuit | null;
  /** Keeps the circuit; where it was just opened, the user's windows are emptied. */
  keepCircuit(circuit: Circuit, opened: boolean): void;
  hitBurst(window: { max: number; window_ms: number }): Hit;
  hitEqualText(window: { max: number; window_ms: number }): Hit;
  turns(): SessionTurns;
  keepTurns(turns: SessionTurns): void;
}

/** The count of a session: turns that were let through, and messages that were blocked since. */
export interface SessionTurns {
  turns: number;
  blocked: number;
  /** So many were allowed when they were counted. */
  max: number;
  /** ms since the epoch. */
  ends_at: number;
}

/**
 * The layers behind the look for duplicates, in order: open circuit, burst, repetition, turns (decisions §7).
 * A message counts in the layers that it comes to: one that an open circuit blocks counts in no window, one
 * over the turn limit counts as a message of its user. Opening a circuit empties the user's windows, so that
 * what is sent after the cooldown is let through, as `Retry-After` says.
 * @param at when the message was sent, ms since the epoch.
 */
export function passLayers(
  state: GuardState,
  at: number,
  limits: GuardLimits,
): Passed | BlockedByCircuit | BlockedByTurnLimit {
  const circuit = state.circuit();
  if (circuit !== null && holds(circuit, at)) {
    const still = { ...circuit, blocked: circuit.blocked + 1 };
    state.keepCircuit(still, false);
    return blockedBy(still, at, false);
  }
  const { max_messages, window_ms, repeat_threshold, repeat_window_ms } = limits;
  const burst = state.hitBurst({ max: max_messages, window_ms });
  if (!burst.allowed) return open('rate_limit', burst.count, max_messages, window_ms);
  const equal = state.hitEqualText({ max: repeat_threshold - 1, window_ms: repeat_window_ms });
  if (!equal.allowed) return open('repetition', equal.count, repeat_threshold - 1, repeat_window_ms);

  const before = state.turns();
  const max = limits.max_turns;
  if (before.turns >= max) {
    const now = { ...before, blocked: before.blocked + 1, max };
    state.keepTurns(now);
    return { allowed: false, reason: 'turn_limit', first: now.blocked === 1, ...now };
  }
  // A limit that was raised since lets the session go on; reaching that one is news again.
  const now = { ...before, turns: before.turns + 1, blocked: 0, max };
  state.keepTurns(now);
  return { allowed: true, messages: burst.count, equal_texts: equal.count, turns: now.turns };

  function open(reason: CircuitReason, count: number, max: number, window_ms: number): BlockedByCircuit {
    const opened: Circuit = {
      reason,
      count,
      max,
      opened_at: at,
      open_until: at + limits.cooldown_ms,
      covers_from: at - window_ms,
      blocked: 1,
    };
    // A backlog may tell late of a burst of long ago: that does not end the cooldown of a newer one.
    const newer = circuit === null || circuit.open_until <= opened.open_until;
    if (newer) state.keepCircuit(opened, true);
    return blockedBy(opened, at, newer);
  }
}

function holds({ covers_from, open_until }: Circuit, at: number): boolean {
  return covers_from < at && at < open_until;
}

function blockedBy(
  { reason, count, max, blocked, open_until }: Circuit,
  at: number,
  opened: boolean,
): BlockedByCircuit {
  return { allowed: false, reason, opened, count, max, blocked, retry_after_ms: open_until - at };
}
