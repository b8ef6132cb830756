/** The wait before the second attempt, ms. Each later wait is twice as long. */
const FIRST_MS = 1000;
/** The longest wait between two runs, and between two attempts to send or to probe, ms. */
export const LONGEST_MS = { run: 60_000, send: 600_000 } as const;
/** The longest wait that a model or platform can ask for, ms. */
const LONGEST_ASKED_MS = 60 * 60 * 1000;

/**
 * How long to wait before the next attempt, ms. The wait doubles each time, up to the longest wait. A random part of up
 * to a tenth of it is subtracted, so that attempts that failed together are not repeated together. The result is never
 * shorter than the wait that the model or platform asked for (at most LONGEST_ASKED_MS).
 * @param attempts number of attempts so far, 1 or more
 * @param askedSeconds `Retry-After`; 0 if none was given
 */
export function backOff(attempts: number, longest_ms: number, askedSeconds = 0): number {
  const longest = Math.min(longest_ms, FIRST_MS * 2 ** (attempts - 1));
  const byChance = longest * (1 - Math.random() / 10);
  return Math.ceil(Math.max(byChance, Math.min(askedSeconds * 1000, LONGEST_ASKED_MS)));
}

/**
 * The wait before the next attempt within a time budget, ms. The last attempt is made when the budget ends. Null once
 * it has ended.
 */
export function withinBudget(wait_ms: number, ends_at: number, now: number): number | null {
  return now < ends_at ? Math.min(wait_ms, ends_at - now) : null;
}

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
