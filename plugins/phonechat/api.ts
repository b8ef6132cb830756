import {
  asFields,
  asObjects,
  type ChannelHealth,
  type ChannelScope,
  type ChannelSettings,
  type DeliveryFailure,
  type Fields,
  failureOfStatus,
  type JsonObject,
  jsonObjectOrNull,
  readAnswer,
  readSecret,
  retryAfterSeconds,
  whyUnanswered,
  withTimeout,
} from '../../src/channel/index.ts';
import { asString, asText } from './content.ts';

/** Version of the Graph API (https://developers.facebook.com/docs/graph-api/changelog). */
const GRAPH_VERSION = 'v25.0';

/** Maximum length of one message, in characters (Cloud API, "Text messages": `text.body`). */
export const TEXT_LIMIT = 4096;

/** Value of `object` in webhooks for WhatsApp business accounts. */
export const WEBHOOK_OBJECT = 'whatsapp_business_account';

/** Webhook field for messages and their statuses. */
export const MESSAGES_FIELD = 'messages';

/** Path to which the platform delivers webhooks. */
export const WEBHOOK_PATH = '/webhook/phonechat';

/** Timeout of one call, in ms. */
const CALL_MS = 10_000;
/** Maximum length of an answer, in characters. */
const ANSWER_MAX = 65_536;
/** Maximum length of a text of the platform in the log, in characters. */
const WORDS_MAX = 200;

/** A failed call, described without secrets. */
export interface Failure extends GraphError {
  reason: string;
}

/** Every call of the platform's API goes through this class. */
export class Graph {
  readonly #scope: ChannelScope;
  readonly #configured: Configured;
  /** What is wrong with the account, so that it can send nothing; null if nothing is known. */
  #account: string | null = null;

  constructor(scope: ChannelScope, configured: Configured) {
    this.#scope = scope;
    this.#configured = configured;
  }

  /**
   * Sends a message. Returns null if the platform accepted it. Never throws.
   * @param number_id id of the business number that sends it
   */
  async post(number_id: string, body: JsonObject, signal?: AbortSignal): Promise<Failure | null> {
    const path = `${encodeURIComponent(number_id)}/messages`;
    const failure = await this.#submit(path, { messaging_product: 'whatsapp', ...body }, signal);
    this.#note(failure, body.type !== undefined);
    return failure;
  }

  health(): ChannelHealth {
    return this.#account === null ? { status: 'ok' } : { status: 'degraded', detail: this.#account };
  }

  /**
   * Returns a business number as the platform shows it, with and without its name, or the reason why the platform
   * refused. Never throws.
   */
  async look(number_id: string): Promise<{ shown: string; number: string } | Failure> {
    const path = `${encodeURIComponent(number_id)}?fields=display_phone_number,verified_name`;
    const outcome = await this.#ask(path, { method: 'GET' });
    if ('reason' in outcome) return outcome;
    const number = asString(outcome.answer.display_phone_number);
    if (number === undefined) return NOT_FROM_PLATFORM;
    const name = asString(outcome.answer.verified_name);
    return { shown: name === undefined ? number : `${number} (${name})`, number };
  }

  /** Returns the address to which the platform delivers messages for a number; null if there is none. Never throws. */
  async fetchWebhook(number_id: string): Promise<{ url: string | null } | Failure> {
    const outcome = await this.#ask(`${encodeURIComponent(number_id)}?fields=webhook_configuration`, {
      method: 'GET',
    });
    if ('reason' in outcome) return outcome;
    // The platform uses the most specific address.
    const { phone_number, whatsapp_business_account, application } = asFields(
      outcome.answer.webhook_configuration,
    );
    return {
      url: asText(phone_number) ?? asText(whatsapp_business_account) ?? asText(application) ?? null,
    };
  }

  /**
   * Registers the address to which the platform delivers messages for a number. The platform verifies it at once. Never
   * throws.
   */
  setWebhook(number_id: string, url: string): Promise<Failure | null> {
    const { verify_token } = this.#configured;
    return this.#submit(encodeURIComponent(number_id), {
      webhook_configuration: { override_callback_uri: url, verify_token },
    });
  }

  /** Subscribes the app to the webhooks of a business account. Never throws. */
  subscribe(account_id: string): Promise<Failure | null> {
    return this.#submit(`${encodeURIComponent(account_id)}/subscribed_apps`, {});
  }

  /** Names of the apps that are subscribed to the webhooks of a business account. Never throws. */
  async subscribedApps(account_id: string): Promise<{ names: string[] } | Failure> {
    const path = `${encodeURIComponent(account_id)}/subscribed_apps`;
    const outcome = await this.#ask(path, { method: 'GET' });
    if ('reason' in outcome) return outcome;
    const apps = asObjects(outcome.answer.data).map((app) => asFields(app.whatsapp_business_api_data));
    return { names: apps.map(({ name, id }) => asText(name) ?? String(id)) };
  }

  /** The platform has accepted what it does not refuse: a server in its place (PHONECHAT_API_URL) may say no more. */
  async #submit(path: string, body: JsonObject, signal?: AbortSignal): Promise<Failure | null> {
    const request = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    };
    const outcome = await this.#ask(path, request, signal);
    if ('reason' in outcome) return outcome;
    return outcome.answer.success === false
      ? { reason: 'the platform did not accept the request', final: false }
      : null;
  }

  /** Calls the API. Never throws. @param path path below the version */
  async #ask(
    path: string,
    { headers = {}, ...init }: { method: string; headers?: Record<string, string>; body?: string },
    signal?: AbortSignal,
  ): Promise<{ answer: Fields } | Failure> {
    const { api_url, access_token } = this.#configured;
    const exchange = async (limit: AbortSignal) => {
      const response = await this.#scope.fetch(`${api_url}/${GRAPH_VERSION}/${path}`, {
        ...init,
        headers: { Authorization: `Bearer ${access_token}`, ...headers },
        // Messages must be sent only to the configured address, so redirects are not followed.
        redirect: 'manual',
        signal: limit,
      });
      return { response, answer: jsonObjectOrNull((await readAnswer(response, ANSWER_MAX)) ?? '') };
    };
    try {
      const { response, answer } = await withTimeout(CALL_MS, exchange, signal);
      const error = errorIn(answer ?? {});
      if (!response.ok || error !== null) return toFailure(response, error);
      return answer === null ? NOT_FROM_PLATFORM : { answer };
    } catch (error) {
      return { reason: whyUnanswered(error), final: false, platform: 'unreachable' };
    }
  }

  #note(failure: Failure | null, isMessage: boolean): void {
    if (failure?.account !== undefined) {
      if (this.#account === null) this.#scope.log.error({ failure: failure.reason }, failure.account);
      this.#account = failure.account;
      // A call that marks a message as read may succeed without the permission to send.
    } else if (failure === null && isMessage) this.#account = null;
  }
}

interface ErrorWords {
  code: number | undefined;
  subcode: number | undefined;
  words: string;
}

/** `{"error": {"message", "type", "code", "error_subcode", "error_data": {"details"}, "fbtrace_id"}}`. */
function errorIn(answer: Fields): ErrorWords | null {
  // An `error` that is not an object does not come from the platform. Then only the status says what happened.
  const [error] = asObjects([answer.error]);
  if (error === undefined) return null;
  const { message, code, error_subcode, error_data } = error;
  const details = asString(asFields(error_data).details);
  const words = [asString(message), details].filter((part) => part !== undefined).join(': ');
  return {
    code: typeof code === 'number' ? code : undefined,
    subcode: typeof error_subcode === 'number' ? error_subcode : undefined,
    words: words.slice(0, WORDS_MAX).toWellFormed(),
  };
}

function toFailure({ status, headers }: Response, error: ErrorWords | null): Failure {
  // An answer with status 200 and an error is a failure.
  const meaning = classifyError(status < 400 && error !== null ? 400 : status, error?.code, error?.subcode);
  const asked = retryAfterSeconds(headers);
  const code = error?.code === undefined ? '' : `, code ${error.code}`;
  // The description of a refused token may quote the token.
  const words = meaning.account ?? error?.words ?? '';
  return {
    ...meaning,
    ...(asked === undefined ? {} : { retry_after_seconds: asked }),
    reason: `status ${status}${code}${words === '' ? '' : `: ${words}`}`,
  };
}

/** A proxy may answer with a page and status 200. */
const NOT_FROM_PLATFORM: Failure = {
  reason: 'the response is not from the platform',
  final: false,
  platform: 'unreachable',
};

/** What an error of the platform means for the message. */
interface GraphError extends DeliveryFailure {
  /** The problem with the account or its credentials. Undefined if the failure concerns only this message. */
  account?: string;
}

interface Meaning extends GraphError {
  codes: readonly number[];
}

/** A code in this range means that a permission is missing. */
const PERMISSIONS = { first: 200, last: 299 };
const REFUSED = 'the platform refuses PHONECHAT_ACCESS_TOKEN';
export const LACKS_PERMISSION = `${REFUSED}: it lacks a permission`;

/**
 * Documented codes that are more specific than their status (WhatsApp Business Platform, "Error codes"). For other
 * codes, the status decides: 408, 429 and 5xx are retried, 401 is a refusal of the credentials, and any other 4xx is
 * final.
 */
const MEANINGS: readonly Meaning[] = [
  // Rate limits. Some have status 400, and none of them has a header that says how long to wait.
  { codes: [130429], final: false },
  { codes: [131056], final: false, retry_after_seconds: 6 },
  { codes: [4, 80007], final: false, retry_after_seconds: 60 },
  // Failures of the platform. According to its documentation, the code matters and not the status. For example, 131000
  // is an error of unknown cause. It is documented with status 500, but also arrives with 400, and the same message is
  // accepted later.
  { codes: [1, 2, 131000, 131016, 131057, 133004, 133005], final: false },
  // The 24-hour window for replies is closed. 470 is an older code for the same error.
  { codes: [131047, 470], final: true },
  // The platform refuses the token: all replies wait until an operator sets another token.
  {
    codes: [0, 102, 190, 463, 467],
    final: false,
    platform: 'credentials',
    account: `${REFUSED}: it is wrong or has expired`,
  },
  // A problem with the account. The reply stays in the list of failed messages; send it again when the account works.
  { codes: [3, 10, 131005], final: true, account: LACKS_PERMISSION },
  { codes: [33], final: true, account: 'the platform does not know PHONECHAT_PHONE_NUMBER_ID' },
  { codes: [133010], final: true, account: 'the business number is not registered for the Cloud API' },
  { codes: [131031, 368], final: true, account: 'the business account is locked or restricted' },
  { codes: [131042], final: true, account: 'the business account has a payment problem' },
  { codes: [131037, 131045], final: true, account: 'the business number is not ready to send' },
  { codes: [131048], final: true, account: 'the platform treats the business number as a sender of spam' },
];

const BY_CODE: ReadonlyMap<number, GraphError> = new Map(
  MEANINGS.flatMap(({ codes, ...meaning }) => codes.map((code) => [code, meaning] as const)),
);

/** @param subcode distinguishes objects that do not exist from other invalid parameters */
export function classifyError(
  status: number,
  code: number | undefined,
  subcode: number | undefined,
): GraphError {
  const known = knownMeaning(code, subcode);
  if (known?.platform === 'credentials') return known;
  if (status >= 500) return { ...known, final: false, platform: 'unreachable' };
  const meaning = failureOfStatus(status);
  if (known !== undefined) return status === 408 || status === 429 ? { ...known, final: false } : known;
  return status === 401 || status === 403 ? { ...meaning, account: REFUSED } : meaning;
}

function knownMeaning(code: number | undefined, subcode: number | undefined): GraphError | undefined {
  if (code === undefined) return undefined;
  if (code === 100) return subcode === 33 ? BY_CODE.get(33) : undefined;
  if (code >= PERMISSIONS.first && code <= PERMISSIONS.last) return BY_CODE.get(10);
  return BY_CODE.get(code);
}

/** The validated settings. */
export interface Configured {
  access_token: string;
  app_secret: string;
  verify_token: string;
  /** The business numbers that the agent answers for. */
  numbers: ReadonlySet<string>;
  /** Id of their WhatsApp business account; null if it is not known. */
  account_id: string | null;
  /** Without a slash at the end. */
  api_url: string;
}

const CREDENTIALS = [
  'PHONECHAT_ACCESS_TOKEN',
  'PHONECHAT_PHONE_NUMBER_ID',
  'PHONECHAT_APP_SECRET',
  'PHONECHAT_VERIFY_TOKEN',
] as const;

/** Whether all four settings are set. The channel needs all of them. */
export function isConfigured(settings: ChannelSettings): boolean {
  return CREDENTIALS.every((name) => settings[name] !== undefined);
}

export function readSettings(settings: ChannelSettings): Configured {
  return {
    access_token: trimmed(settings, 'PHONECHAT_ACCESS_TOKEN'),
    app_secret: trimmed(settings, 'PHONECHAT_APP_SECRET'),
    verify_token: trimmed(settings, 'PHONECHAT_VERIFY_TOKEN'),
    numbers: new Set(
      String(settings.PHONECHAT_PHONE_NUMBER_ID)
        .split(',')
        .map((id) => id.trim()),
    ),
    account_id:
      settings.PHONECHAT_BUSINESS_ACCOUNT_ID === undefined
        ? null
        : String(settings.PHONECHAT_BUSINESS_ACCOUNT_ID),
    api_url: String(settings.PHONECHAT_API_URL).replace(/\/+$/, ''),
  };
}

/** The platform's secrets contain no white space. White space around a value was copied by mistake. */
function trimmed(settings: ChannelSettings, name: string): string {
  return readSecret(settings, name).trim();
}
