/** An own member of a value. Members of the prototype are ignored. */
export function readMember(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string | number, unknown>>)[key]
    : undefined;
}

/** The value to which a path of own members leads; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(readMember, value);
}

/** The name that a segment of a JSON pointer means (RFC 6901, section 4). */
export function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}
