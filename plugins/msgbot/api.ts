import {
  asFields,
  type ChannelScope,
  type Fields,
  jsonObject,
  readAnswer,
  retryAfterSeconds,
  whyUnanswered,
} from '../../src/channel/index.ts';

/** Maximum length of an answer, in characters. The platform's answers are much shorter. */
const ANSWER_MAX = 1_000_000;

/** The platform's API. */
export class PlatformApi {
  readonly #scope: ChannelScope;
  readonly #token: string;
  readonly #root: string;

  /** @param token token of the bot. Every URL contains it, so no URL is logged or thrown. */
  constructor(scope: ChannelScope, token: string, root: string) {
    this.#scope = scope;
    this.#token = token;
    this.#root = root.replace(/\/+$/, '');
  }

  /**
   * Calls a method of the Bot API.
   * @returns the fields of its result; none if the result is no object
   * @throws PlatformFailure
   */
  async call(method: string, parameters: Fields = {}): Promise<Fields> {
    const { response, answer } = await this.#post(method, parameters);
    if (answer?.ok === true) return asFields(answer.result);
    // The body of the answer may also say how long to wait. It has priority over the header `Retry-After`.
    const retry_after = retryAfterSeconds(response.headers);
    if (answer === null)
      throw new PlatformFailure(response.status, 'the answer is not from the Bot API', { retry_after });
    const words = this.#withoutToken(answer.description);
    throw new PlatformFailure(answer.error_code, words, { retry_after, ...answer.parameters });
  }

  /** Redirects are not followed, because the URL contains the token. */
  async #post(method: string, parameters: Fields): Promise<{ response: Response; answer: Answer | null }> {
    try {
      const response = await this.#scope.fetch(`${this.#root}/bot${this.#token}/${method}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(parameters),
      });
      return { response, answer: answerIn((await readAnswer(response, ANSWER_MAX)) ?? '') };
    } catch (error) {
      throw new PlatformFailure(null, whyUnanswered(error));
    }
  }

  /** Masks the token in a text. The error page of a proxy may quote the path, which contains the token. */
  #withoutToken(words: string): string {
    const secret = this.#token.slice(this.#token.indexOf(':') + 1);
    return words.replaceAll(secret, '[secret]');
  }
}

type Answer =
  | { ok: true; result: unknown }
  | { ok: false; error_code: number; description: string; parameters: Parameters };

/**
 * Reads an answer of the Bot API: an object with `ok: true`, or with an error code and a description. Returns null for
 * any other text.
 */
function answerIn(text: string): Answer | null {
  const { ok, result, error_code, description, parameters } = jsonObject(text);
  if (ok === true) return { ok, result };
  if (typeof error_code !== 'number' || typeof description !== 'string') return null;
  return { ok: false, error_code, description, parameters: asFields(parameters) };
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
  migrate_to_chat_id?: unknown;
  retry_after?: unknown;
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
    this.movedTo = Number.isSafeInteger(migrate_to_chat_id) ? Number(migrate_to_chat_id) : undefined;
    this.retry_after_seconds = typeof retry_after === 'number' && retry_after > 0 ? retry_after : undefined;
    this.refusal = this.movedTo === undefined ? classifyRefusal(code, words) : 'migrated';
    this.platform = classifyPlatform(this.refusal, code);
  }

  /** Whether the same call would be refused again. */
  get isFinal(): boolean {
    return this.refusal !== 'rate' && this.refusal !== 'outage';
  }
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
