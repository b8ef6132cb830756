import type { Api } from 'grammy';
import { type ChannelHealth, type ChannelScope, retryAfterSeconds } from '../../src/channel/index.ts';
import { PlatformFailure, unanswered } from './failures.ts';

/** Longest answer of the platform that is read, characters; its own are far below. */
const ANSWER_MAX = 1_000_000;
/** Seconds; the scope's `fetch` gives up before. */
const TIMEOUT_SECONDS = 15;
/** Calls that fail one after another before the channel is called degraded. */
const FAILURES_MAX = 3;

/** The platform's API. Every call either has the platform's answer, or throws a `PlatformFailure`. */
export class PlatformApi {
  readonly #scope: ChannelScope;
  readonly #token: string;
  readonly #root: string;
  #client: Promise<Client> | null = null;
  #failures = 0;
  #isRefused = false;

  /** @param token of the bot; it stands in every URL, so no URL is ever told. */
  constructor(scope: ChannelScope, token: string, root: string) {
    this.#scope = scope;
    this.#token = token;
    this.#root = root.replace(/\/+$/, '');
  }

  /**
   * @param mayBeAway the platform need not be there: that it did not answer says nothing of the channel
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
        detail: `the last ${this.#failures} calls to the platform failed; replies are tried again`,
      };
    return { status: 'ok' };
  }

  /** A refusal of one message says nothing of the others; a platform that answers is there. */
  #remember({ refusal, isFinal }: PlatformFailure, mayBeAway: boolean): void {
    this.#isRefused = refusal === 'credentials';
    if (isFinal || refusal === 'rate') this.#failures = 0;
    else if (!mayBeAway) this.#failures++;
  }

  /** The library is loaded with the first call: a daemon without this channel does without. */
  #connect(): Promise<Client> {
    this.#client ??= import('grammy').then(({ Api, GrammyError, HttpError }) => ({
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
   * What the library fetches with. It has its own time-out, no answer that is none of the platform's gets
   * through, and it follows nobody to another address: the token would go along.
   */
  readonly #fetch = async (url: string, { method, headers, body }: RequestInit): Promise<Answer> => {
    const request: RequestInit = { method: method ?? 'POST', redirect: 'manual' };
    if (headers) request.headers = headers;
    if (body) request.body = body;
    const response = await this.#scope.fetch(url, request);
    const answer = answerIn(await textOf(response));
    if (answer?.ok === true) return { json: async () => answer };
    // The platform says it in its answer, what stands before it in the header.
    const seconds = retryAfterSeconds(response.headers);
    const asked = seconds === undefined ? {} : { retry_after: seconds };
    if (answer === null)
      throw new PlatformFailure(
        response.status,
        `answered ${response.status}, not as the Bot API does`,
        asked,
      );
    return { json: async () => ({ ...answer, parameters: { ...asked, ...answer.parameters } }) };
  };

  /** A proxy may repeat the path in what it says of it. */
  #withoutToken(words: string): string {
    const secret = this.#token.slice(this.#token.indexOf(':') + 1);
    return words.replaceAll(secret, '[secret]');
  }
}

interface Client {
  api: Api;
  failureOf(error: unknown): PlatformFailure;
}

/** As much of an answer as is looked at here. */
interface BotAnswer {
  ok?: unknown;
  error_code?: unknown;
  description?: unknown;
  parameters?: object;
}

/** As much of a response as the library looks at. */
interface Answer {
  json(): Promise<object>;
}

/** What an answer says, read within bounds; nothing where it says too much. */
async function textOf({ body }: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) return '';
  }
  return text + decoder.decode();
}

/** Every answer of the Bot API is an object that says whether it is `ok`, and why not. */
function answerIn(text: string): BotAnswer | null {
  try {
    const answer = JSON.parse(text) as BotAnswer | null;
    if (answer?.ok === true) return answer;
    const { error_code, description } = answer ?? {};
    return typeof error_code === 'number' && typeof description === 'string' ? answer : null;
  } catch {
    // No JSON: a proxy's page, or nothing at all.
    return null;
  }
}
