/**
 * Gives up after so many seconds in which this process ran: while the machine pauses or starves it, no time passes.
 * @returns cancels it
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
