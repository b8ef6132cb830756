interface Listeners {
  readonly all: Set<() => void>;
  readonly tellAll: () => void;
}

const listenersOf = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls `listener` once when a signal aborts. Use this for signals with thousands of listeners, such as the stop of the
 * daemon: a signal searches all its listeners whenever one is added or removed, and this function adds only one
 * listener to the signal.
 * @returns a function that removes the listener. If the signal has already aborted, nothing is called.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { all, tellAll } = listenersOf.get(signal) ?? listenTogether(signal);
  // A new function for each call, because the same listener may be passed twice.
  const one = () => listener();
  all.add(one);
  return () => {
    if (!all.delete(one) || all.size > 0) return;
    signal.removeEventListener('abort', tellAll);
    listenersOf.delete(signal);
  };
}

function listenTogether(signal: AbortSignal): Listeners {
  const all = new Set<() => void>();
  const tellAll = () => {
    for (const listener of all) listener();
    all.clear();
  };
  const listeners = { all, tellAll };
  listenersOf.set(signal, listeners);
  signal.addEventListener('abort', tellAll, { once: true });
  return listeners;
}
