const TICK_MS = 1000;
/** A tick that is so much too late shows that the process could not run. It counts less. */
const LATE_MS = 250;
const LATE_COUNTS = 0.2;

/**
 * Calls `giveUp` after this process has run for this many seconds. Time in which the machine pauses or starves the
 * process hardly counts. @returns a function that cancels the call
 */
export function giveUpAfter(seconds: number, giveUp: () => void): () => void {
  let left = seconds;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    left -= now - last < TICK_MS + LATE_MS ? 1 : LATE_COUNTS;
    last = now;
    if (left > 0) return;
    clearInterval(timer);
    giveUp();
  }, TICK_MS);
  return () => clearInterval(timer);
}
