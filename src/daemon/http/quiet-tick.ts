import { setImmediate } from 'node:timers/promises';

/** A tick that took no longer had nothing to do, ms. */
const QUIET_MS = 0.2;
/** Ticks that are waited for at most. */
const TICKS_MAX = 2000;

/**
 * Resolves at the end of a tick of the event loop that had next to nothing to do: whatever the system held ready for this
 * process was taken a moment ago, connections among them. On a busy loop, after some time.
 */
export async function quietTick(): Promise<void> {
  for (let ticks = 0; ticks < TICKS_MAX; ticks++) {
    const began = performance.now();
    await setImmediate();
    if (performance.now() - began < QUIET_MS) return;
  }
}
