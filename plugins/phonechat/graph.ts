import {
  type ChannelHealth,
  type ChannelScope,
  type JsonObject,
  retryAfterSeconds,
} from '../../src/channel/index.ts';
import type { Configured } from './configured.ts';
import { type GraphError, meaningOf } from './graph-errors.ts';
import { type Fields, fieldsOf, objectsOf, stringOf, wordsOf } from './json.ts';
import { GRAPH_VERSION } from './platform.ts';

/** Timeout of one call, in ms. */
const CALL_MS = 10_000;
/** Maximum length of an answer, in bytes. */
const ANSWER_MAX = 65_536;
/** Failed calls in a row after which the channel is degraded. */
const FAILURES_MAX = 3;
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
  #account: string | null = null;
  #failures = 0;
  #lastFailure = '';

  constructor(scope: ChannelScope, configured: Configured) {
    this.#scope = scope;
    this.#configured = configured;
  }

  /**
   * Sends a message. Returns null if the platform accepted it. Never throws.
   * @param number_id id of the business number that sends it
   */
  async post(number_id: string, body: JsonObject, signal?: AbortSignal): Promise<Failure | null> {
    const failure = await this.#call(number_id, body, signal);
    this.#note(failure, body.type !== undefined);
    return failure;
  }

  health(): ChannelHealth {
    if (this.#account !== null) return { status: 'degraded', detail: this.#account };
    if (this.#failures < FAILURES_MAX) return { status: 'ok' };
    return {
      status: 'degraded',
      detail: `the last ${this.#failures} calls to the platform failed: ${this.#lastFailure}`,
    };
  }

  /** Returns a business number as the platform shows it, or the reason why the platform refused. Never throws. */
  async look(number_id: string): Promise<{ shown: string } | Failure> {
    const path = `${encodeURIComponent(number_id)}?fields=display_phone_number,verified_name`;
    const outcome = await this.#ask(path, { method: 'GET' });
    if ('reason' in outcome) return outcome;
    const number = stringOf(outcome.answer.display_phone_number);
    if (number === undefined) return { reason: 'the response is not from the platform', final: false };
    const name = stringOf(outcome.answer.verified_name);
    return { shown: name === undefined ? number : `${number} (${name})` };
  }

  /** Returns the address to which the platform delivers messages for a number; null if there is none. Never throws. */
  async webhookOf(number_id: string): Promise<{ url: string | null } | Failure> {
    const outcome = await this.#ask(`${encodeURIComponent(number_id)}?fields=webhook_configuration`, {
      method: 'GET',
    });
    if ('reason' in outcome) return outcome;
    // The platform uses the most specific address.
    const { phone_number, whatsapp_business_account, application } = fieldsOf(
      outcome.answer.webhook_configuration,
    );
    return {
      url: wordsOf(phone_number) ?? wordsOf(whatsapp_business_account) ?? wordsOf(application) ?? null,
    };
  }

  /**
   * Registers the address to which the platform delivers messages for a number. The platform verifies it at once. Never
   * throws.
   */
  setWebhook(number_id: string, url: string): Promise<Failure | null> {
    const { verify_token } = this.#configured;
    return this.#change(encodeURIComponent(number_id), {
      webhook_configuration: { override_callback_uri: url, verify_token },
    });
  }

  /** Subscribes the app to the webhooks of a business account. Never throws. */
  subscribe(account_id: string): Promise<Failure | null> {
    return this.#change(`${encodeURIComponent(account_id)}/subscribed_apps`, {});
  }

  /** Names of the apps that are subscribed to the webhooks of a business account. Never throws. */
  async subscribedApps(account_id: string): Promise<{ names: string[] } | Failure> {
    const path = `${encodeURIComponent(account_id)}/subscribed_apps`;
    const outcome = await this.#ask(path, { method: 'GET' });
    if ('reason' in outcome) return outcome;
    const apps = objectsOf(outcome.answer.data).map((app) => fieldsOf(app.whatsapp_business_api_data));
    return { names: apps.map(({ name, id }) => wordsOf(name) ?? String(id)) };
  }

  async #change(path: string, body: JsonObject): Promise<Failure | null> {
    const outcome = await this.#ask(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if ('reason' in outcome) return outcome;
    return outcome.answer.success === true
      ? null
      : { reason: 'the response is not from the platform', final: false };
  }

  async #call(number_id: string, body: JsonObject, signal?: AbortSignal): Promise<Failure | null> {
    const outcome = await this.#ask(
      `${encodeURIComponent(number_id)}/messages`,
      {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ messaging_product: 'whatsapp', ...body }),
      },
      signal,
    );
    if ('reason' in outcome) return outcome;
    const { messages, success } = outcome.answer;
    // A proxy may answer with an HTML page and status 200. The platform has accepted the message only if the answer
    // says so.
    if (Array.isArray(messages) || success === true) return null;
    return { reason: 'the response is not from the platform', final: false, platform: 'unreachable' };
  }

  /** Calls the API. Never throws. @param path path below the version */
  async #ask(
    path: string,
    { headers = {}, ...init }: { method: string; headers?: Record<string, string>; body?: string },
    signal?: AbortSignal,
  ): Promise<{ answer: Fields } | Failure> {
    const { api_url, access_token } = this.#configured;
    const limits = [AbortSignal.timeout(CALL_MS), ...(signal ? [signal] : [])];
    try {
      const response = await this.#scope.fetch(`${api_url}/${GRAPH_VERSION}/${path}`, {
        ...init,
        headers: { Authorization: `Bearer ${access_token}`, ...headers },
        // Messages must be sent only to the configured address, so redirects are not followed.
        redirect: 'manual',
        signal: AbortSignal.any(limits),
      });
      const answer = await readAnswer(response);
      const error = errorIn(answer);
      return response.ok && error === null ? { answer } : failureOf(response, error);
    } catch (error) {
      return { reason: whyUnreachable(error), final: false, platform: 'unreachable' };
    }
  }

  /** A platform that refuses one message counts as healthy, because it answered. */
  #note(failure: Failure | null, isMessage: boolean): void {
    if (failure?.account !== undefined) {
      if (this.#account === null) this.#scope.log.error({ failure: failure.reason }, failure.account);
      this.#account = failure.account;
      // A call that marks a message as read may succeed without the permission to send.
    } else if (failure === null && isMessage) this.#account = null;
    this.#failures = failure === null || failure.final ? 0 : this.#failures + 1;
    this.#lastFailure = failure?.reason ?? '';
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
  if (typeof answer.error !== 'object' || answer.error === null || Array.isArray(answer.error)) return null;
  const { message, code, error_subcode, error_data } = fieldsOf(answer.error);
  const details = stringOf(fieldsOf(error_data).details);
  const words = [stringOf(message), details].filter((part) => part !== undefined).join(': ');
  return {
    code: typeof code === 'number' ? code : undefined,
    subcode: typeof error_subcode === 'number' ? error_subcode : undefined,
    words: words.slice(0, WORDS_MAX).toWellFormed(),
  };
}

function failureOf({ status, headers }: Response, error: ErrorWords | null): Failure {
  // An answer with status 200 and an error is a failure.
  const meaning = meaningOf(status < 400 && error !== null ? 400 : status, error?.code, error?.subcode);
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

async function readAnswer(response: Response): Promise<Fields> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) return {};
  }
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    // The answer is the page of a proxy, so only its status matters.
    return {};
  }
}

/**
 * Describes a network error. Its message is not used: if a header cannot be sent, the message quotes that header, which
 * contains the token.
 */
function whyUnreachable(error: unknown): string {
  if (!(error instanceof Error)) return 'the platform could not be reached';
  if (error.name === 'TimeoutError') return 'the platform did not answer in time';
  if (error.name === 'AbortError') return 'the call was aborted';
  const { code } = fieldsOf(error.cause);
  return `the platform could not be reached: ${stringOf(code) ?? error.name}`;
}
