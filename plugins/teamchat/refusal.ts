/** What went wrong with a call of the platform's API. */
export interface Refusal {
  /** In words, without anything secret. */
  reason: string;
  /** Another try would fail the same way. */
  final: boolean;
  retryAfterSeconds?: number;
  /** The platform does not take our bot token, or it may not do this. */
  credentials: boolean;
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

/** The app is not (or no longer) what it must be: an operator has to mend it. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'access_denied',
  'account_inactive',
  'accesslimited',
  'enterprise_is_restricted',
  'invalid_auth',
  'missing_scope',
  'no_permission',
  'not_allowed_token_type',
  'not_authed',
  'team_access_not_granted',
  'token_expired',
  'token_revoked',
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
      return passing(`no answer (${causeOf(original)})`);
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
    return passing('an answer that is not the platform’s');
  const credentials = CREDENTIALS.has(error);
  if (!PASSING.has(error)) return { reason: error, final: true, credentials };
  return { ...passing(error), ...waiting(response_metadata?.retryAfter) };
}

function ofStatus(status: number, seconds: number): Refusal {
  const final = status >= 400 && status < 500 && status !== 408;
  const refusal = { reason: `status ${status}`, final, credentials: status === 401 || status === 403 };
  return final ? refusal : { ...refusal, ...waiting(seconds) };
}

function causeOf(original: ClientError['original']): string {
  const cause = original?.cause?.code ?? original?.name ?? 'unknown';
  return /^\w{1,64}$/.test(cause) ? cause : 'unknown';
}

function passing(reason: string): Refusal {
  return { reason, final: false, credentials: false };
}

function waiting(seconds: number | undefined): { retryAfterSeconds?: number } {
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0
    ? { retryAfterSeconds: seconds }
    : {};
}
