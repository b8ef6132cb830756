import type { Api } from 'grammy';
import { type ChannelScope, jsonObject, readAnswer, retryAfterSeconds } from '../../src/channel/index.ts';

/** Maximum length of an answer, in characters. The platform's answers are much shorter. */
const ANSWER_MAX = 1_000_000;
/** Timeout of the library, in seconds. The scope's `fetch` gives up earlier. */
const TIMEOUT_SECONDS = 15;

/** The platform's API. Every call returns the platform's answer, or throws a `PlatformFailure`. */
export class PlatformApi {
  readonly #scope: ChannelScope;
  readonly #token: string;
  readonly #root: string;
  #client: Promise<Client> | null = null;

  /** @param token token of the bot. Every URL contains it, so no URL is logged or thrown. */
  constructor(scope: ChannelScope, token: string, root: string) {
    this.#scope = scope;
    this.#token = token;
    this.#root = root.replace(/\/+$/, '');
  }

  /** @throws PlatformFailure */
  async call<T>(work: (api: Api) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    try {
      return await work(client.api);
    } catch (error) {
      throw client.toFailure(error);
    }
  }

  #connect(): Promise<Client> {
    this.#client ??= loadLibrary().then(({ Api, GrammyError, HttpError }) => ({
      api: new Api(this.#token, {
        apiRoot: this.#root,
        timeoutSeconds: TIMEOUT_SECONDS,
        fetch: this.#fetch as unknown as typeof fetch,
      }),
      toFailure: (error) => {
        if (error instanceof GrammyError) {
          const { error_code, description, parameters } = error;
          return new PlatformFailure(error_code, this.#withoutToken(description), parameters);
        }
        const cause = error instanceof HttpError ? error.error : error;
        return cause instanceof PlatformFailure ? cause : unanswered(cause);
      },
    }));
    return this.#client;
  }

  /**
   * The `fetch` of the library. It has a timeout, rejects answers that are not from the platform, and does not follow
   * redirects, because the URL contains the token.
   */
  readonly #fetch = async (url: string, { method, headers, body }: RequestInit): Promise<Answer> => {
    const request: RequestInit = { method: method ?? 'POST', redirect: 'manual' };
    if (headers) request.headers = headers;
    if (body) request.body = body;
    const response = await this.#scope.fetch(url, request);
    const answer = answerIn((await readAnswer(response, ANSWER_MAX)) ?? '');
    if (answer?.ok === true) return { json: async () => answer };
    // The body of the answer may also say how long to wait. It has priority over the header `Retry-After`.
    const seconds = retryAfterSeconds(response.headers);
    const asked = seconds === undefined ? {} : { retry_after: seconds };
    if (answer === null)
      throw new PlatformFailure(response.status, 'the answer is not from the Bot API', asked);
    return { json: async () => ({ ...answer, parameters: { ...asked, ...answer.parameters } }) };
  };

  /** Masks the token in a text. The error page of a proxy may quote the path, which contains the token. */
  #withoutToken(words: string): string {
    const secret = this.#token.slice(this.#token.indexOf(':') + 1);
    return words.replaceAll(secret, '[secret]');
  }
}

let library: Promise<typeof import('grammy')> | undefined;

/** Loads the platform's library, which only a daemon with this channel needs. */
export function loadLibrary(): Promise<typeof import('grammy')> {
  library ??= import('grammy');
  return library;
}

interface Client {
  api: Api;
  toFailure(error: unknown): PlatformFailure;
}

/** The part of an answer that is read here. */
interface BotAnswer {
  ok?: unknown;
  error_code?: unknown;
  description?: unknown;
  parameters?: object;
}

/** The part of a response that the library reads. */
interface Answer {
  json(): Promise<object>;
}

/**
 * Reads an answer of the Bot API: an object with `ok: true`, or with an error code and a description. Returns null for
 * any other text.
 */
function answerIn(text: string): BotAnswer | null {
  const answer: BotAnswer = jsonObject(text);
  if (answer.ok === true) return answer;
  return typeof answer.error_code === 'number' && typeof answer.description === 'string' ? answer : null;
}

/** Kinds of errors of the platform. */
type Refusal =
  /** Too many calls. */
  | 'rate'
  /** The platform or the network has failed. */
  | 'outage'
  /** The platform does not know the bot. */
  | 'credentials'
  /** The platform cannot read the markup. The plain text may work. */
  | 'markup'
  /** The group has a new chat id. */
  | 'migrated'
  /** The message to delete no longer exists. */
  | 'gone'
  /** The message already has the text and the buttons that it should get. */
  | 'unchanged'
  /** The platform permanently refuses the call for this message, chat or person. */
  | 'refused';

/**
 * The platform's errors by code and description (Bot API, "Making requests" and "ResponseParameters"). The descriptions
 * are those of the platform's server. The first matching row is used. Any other error is `refused`, which is final: a
 * 4xx from the platform is not retried.
 */
const REFUSALS: readonly { code: number | readonly [number, number]; words?: RegExp; is: Refusal }[] = [
  { code: 429, is: 'rate' },
  { code: 408, is: 'outage' },
  // The platform never answers with these statuses. The answer comes from a proxy or gateway.
  { code: [200, 399], is: 'outage' },
  { code: [500, 599], is: 'outage' },
  // The platform answers 404 to a malformed token, and 401 to a token that it does not know.
  { code: 401, is: 'credentials' },
  { code: 404, words: /^Not Found$/, is: 'credentials' },
  { code: 400, words: /can't parse entities/i, is: 'markup' },
  { code: 400, words: /message to delete not found/i, is: 'gone' },
  { code: 400, words: /message is not modified/i, is: 'unchanged' },
  // 403: the person blocked the bot, the group removed it, the account was deleted, or the person has never written to
  // the bot.
  { code: 403, is: 'refused' },
  // 400: chat not found, message is too long, TOPIC_CLOSED, message thread not found, not enough rights, …
  { code: 400, is: 'refused' },
];

/** `ResponseParameters` of the Bot API. */
interface Parameters {
  migrate_to_chat_id?: number;
  retry_after?: number;
}

/** A failed call. Its message is for operators and contains no secrets. */
export class PlatformFailure extends Error {
  readonly refusal: Refusal;
  readonly retry_after_seconds: number | undefined;
  /** Set if the failure concerns the platform as a whole (`DeliveryFailure.platform`). */
  readonly platform: 'unreachable' | 'credentials' | undefined;
  /** The new chat id. */
  readonly movedTo: number | undefined;

  /**
   * @param code code in the platform's answer; null if there was no answer
   * @param words description in the answer
   */
  constructor(code: number | null, words: string, parameters: Parameters = {}) {
    super(code === null ? words : `${words} (${code})`);
    this.name = 'PlatformFailure';
    const { migrate_to_chat_id, retry_after } = parameters;
    this.movedTo = Number.isSafeInteger(migrate_to_chat_id) ? migrate_to_chat_id : undefined;
    this.retry_after_seconds = typeof retry_after === 'number' && retry_after > 0 ? retry_after : undefined;
    this.refusal = this.movedTo === undefined ? classifyRefusal(code, words) : 'migrated';
    this.platform = classifyPlatform(this.refusal, code);
  }

  /** Whether the same call would be refused again. */
  get isFinal(): boolean {
    return this.refusal !== 'rate' && this.refusal !== 'outage';
  }
}

/**
 * A call without an answer. The error is dropped, because it may contain the URL, and the URL contains the token.
 * @param error error of `fetch`
 */
function unanswered(error: unknown): PlatformFailure {
  const { name, cause } = error instanceof Error ? error : new Error();
  if (name === 'TimeoutError' || name === 'AbortError')
    return new PlatformFailure(null, 'it did not answer in time');
  const code = (cause as { code?: unknown } | undefined)?.code;
  const isPlain = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code);
  return new PlatformFailure(null, `it cannot be reached${isPlain ? ` (${code})` : ''}`);
}

function classifyPlatform(refusal: Refusal, code: number | null): PlatformFailure['platform'] {
  if (refusal === 'credentials') return 'credentials';
  return refusal === 'outage' && code !== 408 ? 'unreachable' : undefined;
}

function classifyRefusal(code: number | null, words: string): Refusal {
  if (code === null) return 'outage';
  const row = REFUSALS.find(
    ({ code: wanted, words: pattern }) =>
      (typeof wanted === 'number' ? wanted === code : wanted[0] <= code && code <= wanted[1]) &&
      (pattern === undefined || pattern.test(words)),
  );
  return row?.is ?? 'refused';
}
