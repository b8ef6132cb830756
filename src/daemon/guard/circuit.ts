import type { BlockedByCircuit, Circuit } from './verdict.ts';

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
export function blocksAt({ covers_from, open_until }: Circuit, at: number): boolean {
  return covers_from < at && at < open_until;
}

/** The verdict on a message that a circuit blocks. @param opened whether this message opened the circuit. */
export function blockedBy(
  { reason, count, max, blocked, open_until }: Circuit,
  at: number,
  opened: boolean,
): BlockedByCircuit {
  return { allowed: false, reason, opened, count, max, blocked, retry_after_ms: open_until - at };
}
