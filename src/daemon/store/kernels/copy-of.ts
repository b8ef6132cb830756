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
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyOf(part)]));
}
