/** JSON in which the order of an object's names makes no difference: equal values have the same text. */
export function canonicalJson(value: unknown): string {
  // A function that is called for each value costs several times the rest.
  if (isOrdered(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}

/** Plain JSON whose objects have their names in order already. */
function isOrdered(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if ('toJSON' in value) return false;
  if (Array.isArray(value)) return value.every(isOrdered);
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  let last = '';
  for (const [name, inner] of Object.entries(value)) {
    if (name < last || !isOrdered(inner)) return false;
    last = name;
  }
  return true;
}
