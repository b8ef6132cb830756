/**
 * The methods of a port as steps: each step reads and changes the state synchronously, so no other step runs in
 * between.
 */
export type Steps<Port> = {
  [Method in keyof Port]: Port[Method] extends (...given: infer Given) => Promise<infer Result>
    ? (...given: Given) => Result
    : never;
};

/**
 * Makes a port out of steps. Arguments and results are copied, so that no caller shares objects with the state.
 * @param begin called before each step; throws if no step is allowed.
 */
export function asPort<Port extends object>(steps: Steps<Port>, begin: () => void): Port {
  const methods = Object.entries<(...given: unknown[]) => unknown>(steps as never);
  const port = methods.map(([name, step]) => [
    name,
    async (...given: unknown[]) => {
      begin();
      return copyOf(step(...given.map(copyOf)));
    },
  ]);
  return Object.fromEntries(port) as Port;
}

/**
 * Copies data. This is several times faster than `structuredClone`, which is used only for objects that are not plain
 * data.
 */
function copyOf(value: unknown): unknown {
  if (typeof value === 'function') throw new TypeError('A port of the store takes and returns data only.');
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyOf(part)]));
}
