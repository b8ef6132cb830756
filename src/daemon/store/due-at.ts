/**
 * When something that was put off is due. Nothing waits longer than it was put off by: if it seems to, the clock was
 * set back meanwhile, and it is due now.
 * @param at when it was to be due, ms since the epoch.
 * @param wait_ms how long it was put off.
 */
export function dueAt(at: number, wait_ms: number, now: number): number {
  return at - now > wait_ms ? now : at;
}
