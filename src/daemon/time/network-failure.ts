/** Error codes of Node's `net` and `dns` and of undici, for connections that broke or could not be made. */
const CODES =
  /^(?:ECONN(?:REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EPIPE|UND_ERR_(?:SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT))$/;
/** Maximum number of nested causes that are checked. */
const DEPTH_MAX = 5;

/** Whether the network failed, or the other end did not answer in time. Checks the error and its causes. */
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
