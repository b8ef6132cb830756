/** Headers that belong to the daemon and to the connection (RFC 9110, section 7.6.1). */
const REFUSED = new Set([
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Whether a tool may set this header of a request. */
export function isAllowedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return NAME.test(name) && !REFUSED.has(lower) && !lower.startsWith('sec-') && !lower.startsWith('proxy-');
}

/** Whether the value is valid in a header (RFC 9110, section 5.5). */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
