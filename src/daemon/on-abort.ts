const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once when a signal aborts that thousands wait for, such as that the daemon stops. A signal looks
 * through all its listeners whenever one is added or taken away; this is one listener for all of them.
 * @returns takes the listener away. Where it has aborted before, nothing is called.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let listeners = listenersOf.get(signal);
  if (!listeners) {
    listeners = new Set();
    listenersOf.set(signal, listeners);
    listenTogether(signal, listeners);
  }
  // Not the function itself, which may be given twice.
  const one = () => listener();
  listeners.add(one);
  return () => listeners.delete(one);
}

function listenTogether(signal: AbortSignal, listeners: Set<() => void>): void {
  const tellAll = () => {
    for (const listener of listeners) listener();
    listeners.clear();
  };
  signal.addEventListener('abort', tellAll, { once: true });
}
