/** What went wrong with a call of the platform's API. */
export interface Refusal {
  /** In words, without anything secret. */
  reason: string;
  /** Another try would fail the same way. */
  final: boolean;
  retryAfterSeconds?: number;
  /** The platform does not take our bot token, or it may not do this. */
  credentials: boolean;
  /** Set if this concerns the platform as a whole (`DeliveryFailure.platform`). */
  platform?: 'unreachable' | 'credentials';
}

/**
 * Errors that another try may mend: they speak of rate, or of an error of the platform's own (decisions §6).
 * From the tables of https://docs.slack.dev/reference/methods/chat.postMessage and assistant.threads.setStatus;
 * all other codes are final, those that are not documented yet too.
 */
const PASSING: ReadonlySet<string> = new Set([
  // Rate.
  'ratelimited',
  'rate_limited',
  'message_limit_exceeded',
  // The platform's own.
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  // The workspace is being moved.
  'org_login_required',
  'team_added_to_org',
]);

/** Errors of the platform's own, as other platforms tell with a 5xx. */
const OWN_FAILURES: ReadonlySet<string> = new Set(['fatal_error', 'internal_error', 'service_unavailable']);

/** The platform refuses the bot token itself: every reply waits until an operator has set another one. */
const TOKEN_REFUSED: ReadonlySet<string> = new Set([
  'account_inactive',
  'invalid_auth',
  'not_allowed_token_type',
  'not_authed',
  'token_expired',
  'token_revoked',
]);

/** The app is not (or no longer) what it must be: an operator has to mend it. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'access_denied',
  'accesslimited',
  'enterprise_is_restricted',
  'missing_scope',
  'no_permission',
  'team_access_not_granted',
  'two_factor_setup_required',
]);

/**
 * What an error of the platform's client means. It never quotes more of an answer than an error code, and
 * nothing of the request.
 */
export function refusalOf(error: unknown): Refusal {
  const { code, data, retryAfter, statusCode, headers, original } = (error ?? {}) as ClientError;
  switch (code) {
    case 'slack_webapi_platform_error':
      return ofAnswer(data ?? {});
    case 'slack_webapi_rate_limited_error':
      return { ...passing('ratelimited'), ...waiting(retryAfter) };
    case 'slack_webapi_http_error':
      return ofStatus(statusCode ?? 0, Number(headers?.['retry-after']));
    case 'slack_webapi_request_error':
      return unreachable(`no answer (${causeOf(original)})`);
    default:
      // Of the client itself: an answer 429 that does not say how long to wait, mostly.
      return passing(`no answer (${error instanceof Error ? error.name : 'unknown'})`);
  }
}

/** What the errors of @slack/web-api carry, each some of it. */
interface ClientError {
  code?: string;
  data?: { error?: unknown; response_metadata?: { retryAfter?: number } };
  retryAfter?: number;
  statusCode?: number;
  /** Of the answer, in lower case. */
  headers?: Readonly<Record<string, string>>;
  original?: { name?: string; cause?: { code?: string } };
}

function ofAnswer({ error, response_metadata }: NonNullable<ClientError['data']>): Refusal {
  // Nothing but a code is quoted: who knows what else an answer holds.
  if (typeof error !== 'string' || !/^[a-z0-9_]{1,64}$/.test(error))
    return unreachable('an answer that is not the platform’s');
  if (TOKEN_REFUSED.has(error))
    return { reason: error, final: false, credentials: true, platform: 'credentials' };
  const credentials = CREDENTIALS.has(error);
  if (!PASSING.has(error)) return { reason: error, final: true, credentials };
  const refusal = OWN_FAILURES.has(error) ? unreachable(error) : passing(error);
  return { ...refusal, ...waiting(response_metadata?.retryAfter) };
}

function ofStatus(status: number, seconds: number): Refusal {
  const reason = `status ${status}`;
  if (status === 401) return { reason, final: false, credentials: true, platform: 'credentials' };
  if (status === 408) return { ...passing(reason), ...waiting(seconds) };
  if (status >= 400 && status < 500) return { reason, final: true, credentials: status === 403 };
  return { ...unreachable(reason), ...waiting(seconds) };
}

function causeOf(original: ClientError['original']): string {
  const cause = original?.cause?.code ?? original?.name ?? 'unknown';
  return /^\w{1,64}$/.test(cause) ? cause : 'unknown';
}

function passing(reason: string): Refusal {
  return { reason, final: false, credentials: false };
}

function unreachable(reason: string): Refusal {
  return { ...passing(reason), platform: 'unreachable' };
}

function waiting(seconds: number | undefined): { retryAfterSeconds?: number } {
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0
    ? { retryAfterSeconds: seconds }
    : {};
}
