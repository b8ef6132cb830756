const COMPUTE = Symbol('computes the lazy member');

/** The same for all objects, so that they share their shape. */
const DESCRIPTOR: PropertyDescriptor & ThisType<{ [COMPUTE](): unknown }> = {
  enumerable: true,
  get() {
    return this[COMPUTE]();
  },
};

/**
 * Adds one member whose value is computed whenever it is read. Use this for objects that are made for each message or
 * call: for each object literal with a getter, V8 makes a new shape, and this shape keeps the getter, with everything it
 * uses, until the next full garbage collection.
 */
export function addLazyMember<T extends object, Name extends string, Value>(
  target: T,
  name: Name,
  compute: () => Value,
): T & { readonly [_ in Name]: Value } {
  Object.defineProperty(target, COMPUTE, { value: compute });
  return Object.defineProperty(target, name, DESCRIPTOR) as T & { readonly [_ in Name]: Value };
}
