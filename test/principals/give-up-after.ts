/**
 * Calls `giveUp` after this process has run for this many seconds. Time in which the machine pauses or starves the
 * process does not count. @returns a function that cancels the call
 */
export function giveUpAfter(seconds: number, giveUp: () => void): () => void {
  let left = seconds;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    giveUp();
  }, 1000);
  return () => clearInterval(timer);
}
