export interface FailureOptions {
  /** Seconds after which another attempt makes sense. */
  retryAfter?: number;
  /**
   * Set if the message was not and will not be answered. Another attempt then sends a new message. If this is not set,
   * another attempt repeats the request.
   */
  over?: boolean;
  /** Status of the response, if there was one. */
  status?: number;
}

/**
 * The service refused a message or could not answer it. `code` is the service's error code, the reason of its loop
 * guard (`repetition`, `turn_limit`), or `offline` or `unreachable` if there was no response.
 */
export class Failure extends Error {
  readonly code: string;
  readonly retryAfter: number;
  readonly over: boolean;
  readonly status: number;

  constructor(code: string, { retryAfter = 0, over = false, status = 0 }: FailureOptions = {}) {
    super(code);
    this.code = code;
    this.retryAfter = retryAfter;
    this.over = over;
    this.status = status;
  }
}

/** For requests without a response: there is no network, the host name is unknown, or the origin is not allowed. */
export function unreachable(): Failure {
  return new Failure(navigator.onLine ? 'unreachable' : 'offline');
}

/** Returns the failure that a problem document or an `error` event describes. */
export function failureOf(
  { code, reason }: { code?: unknown; reason?: unknown },
  options: FailureOptions,
): Failure {
  const guarded = code === 'loop_guard_blocked';
  // For the visitor, it does not matter whether the loop guard or the rate limit counted the messages.
  return new Failure(String(guarded ? (reason === 'rate_limit' ? 'rate_limited' : reason) : code), options);
}
