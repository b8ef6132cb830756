import {
  asFields,
  type ChannelScope,
  type DeliveryFailure,
  failureOfStatus,
  jsonObject,
  readAnswer,
  readSecret,
  retryAfterSeconds,
  type SettingRecord,
  whyUnanswered,
  withTimeout,
} from '../../src/channel/index.ts';

/** Timeout of one call, in ms. */
const CALL_MS = 10_000;
/** Maximum length of an answer, in characters. */
const ANSWER_MAX = 1_048_576;

/** Calls a method of the platform's API. Resolves with an answer that is `ok`; rejects with `CallFailed`. */
export type Call = (
  method: string,
  args: Readonly<Record<string, unknown>>,
) => Promise<Record<string, unknown>>;

/** A call that the platform did not answer, or refused. */
class CallFailed extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.reason);
    this.refusal = refusal;
  }
}

/**
 * Makes one request for each call (https://docs.slack.dev/apis/web-api). The inbox provides retries, waits and the order.
 * @param stopping aborts running calls when the channel stops
 */
export function createCall(scope: ChannelScope, stopping: AbortSignal): Call {
  const { settings, log } = scope;
  const root = String(settings.TEAMCHAT_API_URL).replace(/\/*$/, '/');
  const token = readSecret(settings, 'TEAMCHAT_BOT_TOKEN');
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/x-www-form-urlencoded',
  };
  return async (method, args) => {
    // The token must be sent only to the configured address, so redirects are not followed.
    const request = { method: 'POST', redirect: 'manual', headers, body: toForm(args) } as const;
    const exchange = async (signal: AbortSignal) => {
      const response = await scope.fetch(root + method, { ...request, signal });
      return { response, text: await readAnswer(response, ANSWER_MAX) };
    };
    const { response, text } = await withTimeout(CALL_MS, exchange, stopping).catch((error: unknown) => {
      throw new CallFailed(unreachable(whyUnanswered(error)));
    });
    const answer = toAnswer(response, text);
    if (answer.ok === true) return answer;
    const { messages } = answer.response_metadata;
    if (Array.isArray(messages))
      log.warn({ messages: messages.map((words) => String(words).replaceAll(token, '[secret]')) }, REFUSED);
    throw new CallFailed(ofAnswer(answer));
  };
}

const REFUSED = 'the platform says why it refused a call';

/** The arguments as the platform reads them. Objects are JSON. */
function toForm(args: Readonly<Record<string, unknown>>): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(args))
    if (value !== undefined && value !== null)
      form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  return form.toString();
}

/** An answer to a call, with what its headers say. */
interface Answer extends Record<string, unknown> {
  ok?: unknown;
  error?: unknown;
  response_metadata: { scopes?: readonly string[]; messages?: unknown; retry_after?: number };
}

/** @throws CallFailed if the status says that the platform did not carry out the call */
function toAnswer({ status, headers }: Response, text: string | null): Answer {
  const retry_after = retryAfterSeconds(headers);
  if (status === 429) throw new CallFailed({ ...passing('ratelimited'), ...waiting(retry_after) });
  if (status !== 200) throw new CallFailed(ofStatus(status, retry_after));
  // The answer of a proxy or gateway is not JSON, or too long.
  const answer = jsonObject(text ?? '');
  const scopes = headers
    .get('x-oauth-scopes')
    ?.trim()
    .split(/\s*,\s*/);
  return {
    ...answer,
    response_metadata: {
      ...asFields(answer.response_metadata),
      ...(scopes === undefined ? {} : { scopes }),
      ...(retry_after === undefined ? {} : { retry_after }),
    },
  };
}

export const SETTINGS: readonly SettingRecord[] = [
  {
    name: 'TEAMCHAT_BOT_TOKEN',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Bot User OAuth Token of the Slack app (“OAuth & Permissions”), which sends the replies. Together with TEAMCHAT_SIGNING_SECRET it turns the teamchat channel on.',
    example: 'xoxb-…',
  },
  {
    name: 'TEAMCHAT_SIGNING_SECRET',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Signing Secret of the Slack app (“Basic Information”), which proves that webhooks come from Slack.',
  },
  {
    name: 'TEAMCHAT_API_URL',
    kind: 'url',
    default: 'https://slack.com/api',
    sentence: 'Base address of the Slack Web API. Change it for a proxy or a simulator.',
  },
];

/** A failed call of the platform's API. */
export interface Refusal extends DeliveryFailure {
  /** A description without secrets. */
  reason: string;
  /** Whether the platform refuses the bot token, or the bot lacks a permission. */
  credentials: boolean;
}

/**
 * Errors for which another attempt may succeed: rate limits, and failures of the platform. They come from the tables of
 * https://docs.slack.dev/reference/methods/chat.postMessage and assistant.threads.setStatus. All other codes are final,
 * including undocumented ones, except the codes for a refused bot token.
 */
const PASSING: ReadonlySet<string> = new Set([
  // Rate limits.
  'ratelimited',
  'rate_limited',
  'message_limit_exceeded',
  // Failures of the platform.
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  // The workspace is being moved.
  'org_login_required',
  'team_added_to_org',
]);

/** Failures of the platform itself. Other platforms answer 5xx in these cases. */
const OWN_FAILURES: ReadonlySet<string> = new Set(['fatal_error', 'internal_error', 'service_unavailable']);

/** The platform refuses the bot token: all replies wait until an operator sets another token. */
const TOKEN_REFUSED: ReadonlySet<string> = new Set([
  'account_inactive',
  'invalid_auth',
  'not_allowed_token_type',
  'not_authed',
  'token_expired',
  'token_revoked',
]);

/** The configuration of the app is wrong: an operator must fix it. */
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
 * Returns what a failed call means. The reason quotes only the error code of an answer, and nothing from the request.
 */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof CallFailed) return error.refusal;
  return passing(whyUnanswered(error));
}

function ofAnswer({ error, response_metadata }: Answer): Refusal {
  // Only a code is quoted, because an answer may contain anything.
  if (typeof error !== 'string' || !/^[a-z0-9_]{1,64}$/.test(error))
    return unreachable('the response is not from the platform');
  if (TOKEN_REFUSED.has(error))
    return { reason: error, final: false, credentials: true, platform: 'credentials' };
  const credentials = CREDENTIALS.has(error);
  if (!PASSING.has(error)) return { reason: error, final: true, credentials };
  const refusal = OWN_FAILURES.has(error) ? unreachable(error) : passing(error);
  return { ...refusal, ...waiting(response_metadata.retry_after) };
}

function ofStatus(status: number, seconds: number | undefined): Refusal {
  const failure = failureOfStatus(status);
  const refusal = { reason: `status ${status}`, ...failure, credentials: status === 401 || status === 403 };
  return refusal.credentials || failure.final ? refusal : { ...refusal, ...waiting(seconds) };
}

function passing(reason: string): Refusal {
  return { reason, final: false, credentials: false };
}

function unreachable(reason: string): Refusal {
  return { ...passing(reason), platform: 'unreachable' };
}

function waiting(seconds: number | undefined): { retry_after_seconds?: number } {
  return seconds === undefined ? {} : { retry_after_seconds: seconds };
}
