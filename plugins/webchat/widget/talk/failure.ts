export interface FailureOptions {
  /** After how long another try makes sense, seconds. */
  retryAfter?: number;
  /** It is certain that the message was not, and will not be, answered: another try is a new message. */
  over?: boolean;
  /** Of the response, where there was one. */
  status?: number;
}

/**
 * The service refused a message or could not answer it. `code` is the service's, the reason of its loop guard
 * (`repetition`, `turn_limit`), or `offline` or `unreachable` where nothing answered.
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

/** Nothing answered at all: no network, a name that is not found, an origin that is not allowed. */
export function unreachable(): Failure {
  return new Failure(navigator.onLine ? 'unreachable' : 'offline');
}

/** The failure that a problem document, or an `error` event, tells of. */
export function failureOf(
  { code, reason }: { code?: unknown; reason?: unknown },
  options: FailureOptions,
): Failure {
  const guarded = code === 'loop_guard_blocked';
  // A burst of messages is one and the same to the visitor, whoever counted it.
  return new Failure(String(guarded ? (reason === 'rate_limit' ? 'rate_limited' : reason) : code), options);
}
