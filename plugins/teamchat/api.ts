import type { WebClient } from '@slack/web-api';
import {
  type ChannelHealth,
  type ChannelScope,
  type DeliveryFailure,
  failureOfStatus,
  readAnswer,
  readSecret,
  retryAfterSeconds,
  type SettingRecord,
} from '../../src/channel/index.ts';

/** Timeout of one call, in ms. */
const CALL_MS = 10_000;
/** Maximum length of an answer, in characters. */
const ANSWER_MAX = 1_048_576;

/** Calls a method of the platform's API. Resolves with an answer that is `ok`; rejects with the client's error. */
export type Call = (
  method: string,
  args: Readonly<Record<string, unknown>>,
) => Promise<Record<string, unknown>>;

/**
 * The platform's own client library. Its retries, waits and ordering are turned off, because the inbox provides them.
 * @param stopping aborts running calls when the channel stops
 */
export function createCall(scope: ChannelScope, stopping: AbortSignal): Call {
  let client: Promise<WebClient> | undefined;
  return async (method, args) => {
    client ??= createClient(scope, stopping);
    return { ...(await (await client).apiCall(method, { ...args })) };
  };
}

let library: Promise<typeof import('@slack/web-api')> | undefined;

/** Loads the platform's client library, which only a daemon with this channel needs. */
export function loadLibrary(): Promise<typeof import('@slack/web-api')> {
  library ??= import('@slack/web-api');
  return library;
}

async function createClient(scope: ChannelScope, stopping: AbortSignal): Promise<WebClient> {
  const { LogLevel, WebClient } = await loadLibrary();
  const token = readSecret(scope.settings, 'TEAMCHAT_BOT_TOKEN');
  const say = (level: 'debug' | 'warn', words: readonly unknown[]) => {
    // The client logs network errors unchanged, and these may quote the request, which contains the token.
    const client = words.map(String).join(' ').replaceAll(token, '[secret]');
    scope.log[level]({ client }, 'a message of the platform’s client library');
  };
  return new WebClient(token, {
    slackApiUrl: String(scope.settings.TEAMCHAT_API_URL),
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    fetch: async (input, init) => {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(CALL_MS)]);
      return checked(await scope.fetch(input, { ...init, signal }));
    },
    logger: {
      // Debug lines of the client contain people's messages. The caller logs each failure once.
      debug: () => {},
      info: (...words) => say('debug', words),
      warn: (...words) => say('debug', words),
      error: (...words) => say('warn', words),
      setLevel: () => {},
      getLevel: () => LogLevel.INFO,
      setName: () => {},
    },
  });
}

/**
 * Reads an answer completely, up to a maximum size. An answer that is not JSON comes from a proxy or gateway. The
 * client would treat it as an error of the platform.
 */
async function checked(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const text = await readAnswer(response, ANSWER_MAX);
  if (text === null) throw noAnswer('too_long');
  if (response.status === 200 && !isJsonObject(text)) throw noAnswer('no_json');
  const headers = new Headers(response.headers);
  const seconds = retryAfterSeconds(headers);
  // The client understands `Retry-After` only in seconds.
  if (seconds !== undefined) headers.set('Retry-After', String(seconds));
  const { status, statusText } = response;
  return new Response(text, { status, statusText, headers });
}

/** @param code code of a network error */
function noAnswer(code: string): Error {
  return new Error('the response is not from the platform', { cause: { code } });
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
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
 * Returns what an error of the platform's client means. The reason quotes only the error code of an answer, and nothing
 * from the request.
 */
export function toRefusal(error: unknown): Refusal {
  const { code, data, retryAfter, statusCode, headers, original } = (error ?? {}) as ClientError;
  switch (code) {
    case 'slack_webapi_platform_error':
      return ofAnswer(data ?? {});
    case 'slack_webapi_rate_limited_error':
      return { ...passing('ratelimited'), ...waiting(retryAfter) };
    case 'slack_webapi_http_error':
      return ofStatus(statusCode ?? 0, Number(headers?.['retry-after']));
    case 'slack_webapi_request_error':
      return unreachable(`no answer (${readCause(original)})`);
    default:
      // An error of the client itself, usually for a 429 that does not say how long to wait.
      return passing(`no answer (${error instanceof Error ? error.name : 'unknown'})`);
  }
}

/** Members that errors of @slack/web-api may have. */
interface ClientError {
  code?: string;
  data?: { error?: unknown; response_metadata?: { retryAfter?: number } };
  retryAfter?: number;
  statusCode?: number;
  /** Headers of the answer, in lower case. */
  headers?: Readonly<Record<string, string>>;
  original?: { name?: string; cause?: { code?: string } };
}

function ofAnswer({ error, response_metadata }: NonNullable<ClientError['data']>): Refusal {
  // Only a code is quoted, because an answer may contain anything.
  if (typeof error !== 'string' || !/^[a-z0-9_]{1,64}$/.test(error))
    return unreachable('the response is not from the platform');
  if (TOKEN_REFUSED.has(error))
    return { reason: error, final: false, credentials: true, platform: 'credentials' };
  const credentials = CREDENTIALS.has(error);
  if (!PASSING.has(error)) return { reason: error, final: true, credentials };
  const refusal = OWN_FAILURES.has(error) ? unreachable(error) : passing(error);
  return { ...refusal, ...waiting(response_metadata?.retryAfter) };
}

function ofStatus(status: number, seconds: number): Refusal {
  const failure = failureOfStatus(status);
  const refusal = { reason: `status ${status}`, ...failure, credentials: status === 401 || status === 403 };
  return refusal.credentials || failure.final ? refusal : { ...refusal, ...waiting(seconds) };
}

function readCause(original: ClientError['original']): string {
  const cause = original?.cause?.code ?? original?.name ?? 'unknown';
  return /^\w{1,64}$/.test(cause) ? cause : 'unknown';
}

function passing(reason: string): Refusal {
  return { reason, final: false, credentials: false };
}

function unreachable(reason: string): Refusal {
  return { ...passing(reason), platform: 'unreachable' };
}

function waiting(seconds: number | undefined): { retry_after_seconds?: number } {
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0
    ? { retry_after_seconds: seconds }
    : {};
}

/** Failed calls in a row after which the channel is degraded. A single failure is retried. */
const FAILURES = 3;

/** How the platform's API has answered recently. */
export class Health {
  #failures = 0;
  #refusal: Refusal | null = null;

  answered(): void {
    this.#failures = 0;
    this.#refusal = null;
  }

  /** A platform that refuses one message counts as healthy, because it answered and knows the bot. */
  refused(refusal: Refusal): void {
    if (refusal.final && !refusal.credentials) this.answered();
    else {
      this.#failures++;
      this.#refusal = refusal;
    }
  }

  get now(): ChannelHealth {
    const refusal = this.#refusal;
    if (refusal?.credentials)
      return { status: 'degraded', detail: `the platform refuses the credentials: ${refusal.reason}` };
    if (refusal === null || this.#failures < FAILURES) return { status: 'ok' };
    const detail = `the last ${this.#failures} calls to the platform failed: ${refusal.reason}`;
    return { status: 'degraded', detail };
  }
}
