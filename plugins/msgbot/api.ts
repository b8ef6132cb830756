import type { Api } from 'grammy';
import { type ChannelHealth, type ChannelScope, retryAfterSeconds } from '../../src/channel/index.ts';
import { PlatformFailure, unanswered } from './failures.ts';

/** Maximum length of an answer, in characters. The platform's answers are much shorter. */
const ANSWER_MAX = 1_000_000;
/** Timeout of the library, in seconds. The scope's `fetch` gives up earlier. */
const TIMEOUT_SECONDS = 15;
/** Failed calls in a row after which the channel is degraded. */
const FAILURES_MAX = 3;

/** The platform's API. Every call returns the platform's answer, or throws a `PlatformFailure`. */
export class PlatformApi {
  readonly #scope: ChannelScope;
  readonly #token: string;
  readonly #root: string;
  #client: Promise<Client> | null = null;
  #failures = 0;
  #isRefused = false;

  /** @param token token of the bot. Every URL contains it, so no URL is logged or thrown. */
  constructor(scope: ChannelScope, token: string, root: string) {
    this.#scope = scope;
    this.#token = token;
    this.#root = root.replace(/\/+$/, '');
  }

  /**
   * @param mayBeAway whether the platform may be unreachable without a fault, because it is simulated. An outage then
   *   does not make the channel degraded.
   * @throws PlatformFailure
   */
  async call<T>(work: (api: Api) => Promise<T>, { mayBeAway = false } = {}): Promise<T> {
    const client = await this.#connect();
    try {
      const answer = await work(client.api);
      this.#failures = 0;
      this.#isRefused = false;
      return answer;
    } catch (error) {
      const failure = client.failureOf(error);
      this.#remember(failure, mayBeAway);
      throw failure;
    }
  }

  health(): ChannelHealth {
    if (this.#isRefused)
      return { status: 'degraded', detail: 'the platform refuses MSGBOT_BOT_TOKEN; replies cannot be sent' };
    if (this.#failures >= FAILURES_MAX)
      return {
        status: 'degraded',
        detail: `the last ${this.#failures} calls to the platform failed; replies are retried`,
      };
    return { status: 'ok' };
  }

  /** A platform that refuses one message counts as healthy, because it answered. */
  #remember({ refusal, isFinal }: PlatformFailure, mayBeAway: boolean): void {
    this.#isRefused = refusal === 'credentials';
    if (isFinal || refusal === 'rate') this.#failures = 0;
    else if (!mayBeAway) this.#failures++;
  }

  #connect(): Promise<Client> {
    this.#client ??= loadLibrary().then(({ Api, GrammyError, HttpError }) => ({
      api: new Api(this.#token, {
        apiRoot: this.#root,
        timeoutSeconds: TIMEOUT_SECONDS,
        fetch: this.#fetch as unknown as typeof fetch,
      }),
      failureOf: (error) => {
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
    const answer = answerIn(await textOf(response));
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
  failureOf(error: unknown): PlatformFailure;
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

/** The text of an answer, read up to a maximum size. Empty if the answer is too long. */
async function textOf({ body }: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) return '';
  }
  return text + decoder.decode();
}

/**
 * Reads an answer of the Bot API: an object with `ok: true`, or with an error code and a description. Returns null for
 * any other text.
 */
function answerIn(text: string): BotAnswer | null {
  try {
    const answer = JSON.parse(text) as BotAnswer | null;
    if (answer?.ok === true) return answer;
    const { error_code, description } = answer ?? {};
    return typeof error_code === 'number' && typeof description === 'string' ? answer : null;
  } catch {
    // The text is not JSON, for example the page of a proxy or an empty answer.
    return null;
  }
}
