/** How the name of a header looks (RFC 9110, "Field Names"). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that agentd sets itself, and hop-by-hop headers: a tool, a model and a fixed header leave them alone. */
export const RESERVED_HEADERS: readonly string[] = [
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

export function isReservedHeader(name: string): boolean {
  return RESERVED_HEADERS.includes(name.toLowerCase());
}
