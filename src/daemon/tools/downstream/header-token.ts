/** Whether a value is printable ASCII without blanks, which is safe in a header. */
export function isHeaderToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}
