import type { FieldError } from '../channel/index.ts';

/**
 * Every problem that the daemon can report in a response: the stable code that clients test, its status, and what the
 * caller can do. agentd-errors(7) is generated from this table.
 */
export const ERRORS = {
  malformed_json: {
    status: 400,
    meaning: 'The body is not JSON, or its top level is not an object.',
    solve: 'Send one JSON object, encoded as UTF-8.',
  },
  invalid_request: {
    status: 400,
    meaning: 'A field is missing, of a wrong type, empty or too long.',
    solve: 'Fix the fields that `errors` names.',
  },
  invalid_signature: {
    status: 401,
    meaning: 'The signature of a webhook is missing, wrong, or too old.',
    solve:
      'Compare the signing secret in the settings with the one that the platform shows; check the clock.',
  },
  token_missing: {
    status: 401,
    meaning:
      'A stream was opened without any token, but SSE_REQUIRE_TOKEN requires one; a link or a link code was requested without one; or `/metrics` was requested without ADMIN_TOKEN.',
    solve:
      'Send the token with the message or when the stream is opened; a browser sends its cookie only with a request that includes credentials. For metrics, send ADMIN_TOKEN as the bearer token.',
  },
  token_invalid: {
    status: 401,
    meaning: 'The user token is invalid. `detail` says why. Only for the routes that need a token.',
    solve: 'Send a new token of the website. `agentd token verify` explains each reason.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The request is not allowed: the stream belongs to somebody else, a page of another site requested it, a phone number may not be linked to this person, or the secret of a platform is wrong.',
    solve:
      'Read a stream with a script of an allowed page, and with a token of the person to whom the stream belongs. For a platform, compare the secret in the settings with the one that is set at the platform.',
  },
  session_forbidden: {
    status: 403,
    meaning: 'The session belongs to someone else.',
    solve: 'Leave `session_id` out to begin a session of your own.',
  },
  not_found: {
    status: 404,
    meaning: 'There is no such path, or no such link or link code of this person.',
    solve: 'Check the path and the active channels (`agentd status`).',
  },
  stream_not_found: {
    status: 404,
    meaning: 'There is no such stream, or it has expired.',
    solve: 'Send the message again; open its stream before SSE_STREAM_TTL_SECONDS have passed.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, but not for this method.',
    solve: 'Use one of the methods in the header `Allow`.',
  },
  duplicate_in_progress: {
    status: 409,
    meaning: 'A request with the same Idempotency-Key is still running.',
    solve: 'Wait for the first answer, then repeat the request to get it again.',
  },
  confirmation_gone: {
    status: 409,
    meaning:
      'The action that `metadata.confirm` names does not wait for an answer from this sender: its id is unknown, or it was already answered, has expired, was withdrawn, or belongs to somebody else.',
    solve: 'Ask for the action again, and answer the new question within 15 minutes.',
  },
  code_not_claimed: {
    status: 409,
    meaning: 'No chat has sent the link code yet, so there is nothing to confirm.',
    solve: 'Ask for the state of the code until it is `claimed`, and show the person which chat has sent it.',
  },
  code_gone: {
    status: 409,
    meaning: 'The link code was declined or ended, or one of its tokens is no longer valid.',
    solve: 'Make another link code.',
  },
  body_too_large: {
    status: 413,
    meaning: 'The body is larger than BODY_LIMIT_BYTES or, for a signed webhook, than 4 MiB.',
    solve: 'Send less, or raise BODY_LIMIT_BYTES.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The endpoint does not accept the content type or encoding of the request.',
    solve: 'Send the content type that `detail` names, without a content encoding.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The Idempotency-Key was used before with another body.',
    solve: 'Use a new key for a new message.',
  },
  rate_limited: {
    status: 429,
    meaning:
      'More requests than the rate limit allows, or more than 5 link codes of a person within 10 minutes.',
    solve: 'Wait for as long as `Retry-After` says.',
  },
  too_many_readers: {
    status: 429,
    meaning:
      'A stream has 64 open readers without a valid token, or a client address has SSE_MAX_READERS_PER_CLIENT open readers without one.',
    solve:
      'Close streams that nobody reads. Send a valid token, since readers with one are not counted. Behind a proxy, set TRUST_PROXY.',
  },
  loop_guard_blocked: {
    status: 429,
    meaning:
      'The loop guard blocks the message; `reason` says why: `rate_limit` (too many messages in a short time), `repetition` (the same text again and again) or `turn_limit` (the session has reached its turn limit).',
    solve:
      'Wait for as long as `Retry-After` says; if there is none, begin another session. Operators can run `agentd guard list`.',
  },
  internal_error: {
    status: 500,
    meaning: 'Something unexpected happened.',
    solve: 'Search the log for the request id.',
  },
  agent_failed: {
    status: 502,
    meaning: 'The agent runtime failed.',
    solve:
      'If there is a `Retry-After`, repeat the request after that time. Otherwise run `agentd explain` with the request id, and check the model and its key.',
  },
  unavailable: {
    status: 503,
    meaning: 'The store cannot be reached or is almost full, or the daemon is stopping or overloaded.',
    solve: 'Wait for as long as `Retry-After` says, then repeat the request.',
  },
  agent_timeout: {
    status: 504,
    meaning: 'The agent took longer than AGENT_TIMEOUT_SECONDS.',
    solve: 'Ask again; raise AGENT_TIMEOUT_SECONDS, or find out why the model or a tool is slow.',
  },
} as const satisfies Record<string, { status: number; meaning: string; solve: string }>;

export type ErrorCode = keyof typeof ERRORS;

interface ProblemOptions {
  errors?: readonly FieldError[];
  /** Seconds, sent as `Retry-After`. */
  retryAfter?: number;
  /** Further members of the problem document (RFC 9457 §3.2). */
  members?: Readonly<Record<string, unknown>>;
  /** Further response headers. */
  headers?: Readonly<Record<string, string>>;
  /** For the log only. */
  cause?: unknown;
}

/** A failure with a code. `message` is for the caller and contains no internal details; `cause` is for the log. */
export class AgentdError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly errors: readonly FieldError[] | undefined;
  readonly retryAfter: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause });
    this.name = 'AgentdError';
    this.code = code;
    this.status = ERRORS[code].status;
    this.errors = options.errors;
    this.retryAfter = options.retryAfter;
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
  }
}

/**
 * The daemon stops before it could answer; callers try again (503), when another daemon has taken over or this one has
 * restarted.
 */
export function daemonStopping(): AgentdError {
  return new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: 5 });
}

/** The store cannot be read or written now; callers try again (503). */
export class StoreUnavailable extends AgentdError {
  /** Which store it is, for an operator: the path of the file. Null if the cause says it, or if it is not known. */
  place: string | null = null;

  constructor(cause: unknown) {
    super('unavailable', 'The store cannot be reached at the moment.', { retryAfter: 5, cause });
    this.name = 'StoreUnavailable';
  }
}
