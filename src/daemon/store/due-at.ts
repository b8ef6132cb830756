/**
 * When something that was postponed is due. The wait is never longer than `wait_ms`: if more time remains, the clock
 * was set back, and it is due now.
 * @param at the planned time, ms since the epoch.
 * @param wait_ms how long it was postponed.
 */
export function dueAt(at: number, wait_ms: number, now: number): number {
  return at - now > wait_ms ? now : at;
}
