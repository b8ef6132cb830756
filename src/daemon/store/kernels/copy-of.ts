/**
 * Copies data. This is several times faster than `structuredClone`, which is used only for objects that are not plain
 * data.
 */
export function copyOf(value: unknown): unknown {
  if (typeof value === 'function') throw new TypeError('The store takes and returns data only.');
  if (typeof value !== 'object' || value === null) return value;
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
