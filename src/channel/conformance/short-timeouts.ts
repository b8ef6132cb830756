/** Factor by which timeouts are shortened. */
const FACTOR = 1000;

/** Number of calls of `withShortTimeouts` that are running. The usual timers are restored when the last one ends. */
let running = 0;
let restore = () => {};

/**
 * Shortens timeouts while `work` runs: `setTimeout` and `AbortSignal.timeout` of this process take a thousandth of the
 * given time. Everything else takes as long as usual.
 */
export async function withShortTimeouts<T>(work: () => Promise<T>): Promise<T> {
  if (running++ === 0) restore = shorten();
  try {
    return await work();
  } finally {
    if (--running === 0) restore();
  }
}

function shorten(): () => void {
  const { setTimeout: usual } = globalThis;
  const { timeout } = AbortSignal;
  const short = (callback: () => void, ms?: number, ...args: []) =>
    usual(callback, (ms ?? 0) / FACTOR, ...args);
  globalThis.setTimeout = Object.assign(short, usual) as typeof setTimeout;
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, Math.ceil(ms / FACTOR));
  return () => {
    globalThis.setTimeout = usual;
    AbortSignal.timeout = timeout;
  };
}
