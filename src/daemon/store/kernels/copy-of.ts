/** What `frozen` has returned. */
const FROZEN = new WeakSet<object>();

/**
 * Copies data. This is several times faster than `structuredClone`, which is used only for objects that are not plain
 * data. Data that nobody can change (`frozen`) is not copied.
 */
export function copyOf(value: unknown): unknown {
  if (typeof value === 'function') throw new TypeError('The store takes and returns data only.');
  if (typeof value !== 'object' || value === null) return value;
  if (Object.isFrozen(value) && FROZEN.has(value)) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (name === '__proto__')
      return Object.fromEntries(Object.entries(value).map(([of, part]) => [of, copyOf(part)]));
    copy[name] = copyOf((value as Record<string, unknown>)[name]);
  }
  return copy;
}

/** Freezes data that is read often, with all its parts. It must be plain data. */
export function frozen(value: unknown): unknown {
  freeze(value);
  if (typeof value === 'object' && value !== null) FROZEN.add(value);
  return value;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) freeze(part);
  Object.freeze(value);
}
