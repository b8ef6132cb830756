/** Codes of connections that could not be made or broke, by Node's `net` and `dns` and by undici. */
const CODES =
  /^(?:ECONN(?:REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EPIPE|UND_ERR_(?:SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT))$/;
/** Causes that are followed. */
const DEPTH_MAX = 5;

/** Did the network fail, or the other end not answer in time? Looks at the error and at what caused it. */
export function isNetworkFailure(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < DEPTH_MAX && current instanceof Error; depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && CODES.test(code)) return true;
    if (current.name === 'TimeoutError') return true;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return false;
}
