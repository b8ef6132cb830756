import { setImmediate } from 'node:timers/promises';

/** Maximum duration of a tick that had nothing to do, ms. */
const QUIET_MS = 0.2;
/** Maximum number of ticks to wait for. */
const TICKS_MAX = 2000;

/**
 * Resolves at the end of a tick of the event loop that had almost nothing to do. By then, everything that the system
 * had ready for this process has been accepted, including connections. On a busy loop, resolves after TICKS_MAX ticks.
 */
export async function quietTick(): Promise<void> {
  for (let ticks = 0; ticks < TICKS_MAX; ticks++) {
    const began = performance.now();
    await setImmediate();
    if (performance.now() - began < QUIET_MS) return;
  }
}
