/** Marks what `frozen` has returned. A set of these objects would have to be kept up by each garbage collection. */
const FROZEN = Symbol('frozen with all its parts');

/**
 * Copies data. This is several times faster than `structuredClone`, which is used only for objects that are not plain
 * data. Data that nobody can change (`frozen`) is not copied.
 */
export function copyOf(value: unknown): unknown {
  if (typeof value === 'function') throw new TypeError('The store takes and returns data only.');
  if (typeof value !== 'object' || value === null) return value;
  if (FROZEN in value) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return structuredClone(value);
  const copy: Record<string, unknown> = { ...value };
  for (const name in copy) {
    const part = copy[name];
    if (typeof part === 'object' || typeof part === 'function') copy[name] = copyOf(part);
  }
  return copy;
}

/** Freezes data that is read often, with all its parts. It must be plain data. */
export function frozen(value: unknown): unknown {
  // Not enumerable, so that no copy has it.
  if (typeof value === 'object' && value !== null) Object.defineProperty(value, FROZEN, { value: true });
  freeze(value);
  return value;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) freeze(part);
  Object.freeze(value);
}
