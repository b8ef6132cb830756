import {
  type ChannelHealth,
  type ChannelScope,
  type JsonObject,
  retryAfterSeconds,
} from '../../src/channel/index.ts';
import type { Configured } from './configured.ts';
import { type GraphError, meaningOf } from './graph-errors.ts';
import { type Fields, fieldsOf, stringOf } from './json.ts';
import { GRAPH_VERSION } from './platform.ts';

/** Time-out of one call, ms. */
const CALL_MS = 10_000;
/** Longest answer that is read, bytes. */
const ANSWER_MAX = 65_536;
/** Calls in a row that may fail before the channel counts as degraded. */
const FAILURES_MAX = 3;
/** Longest words of the platform that are handed on, in characters. */
const WORDS_MAX = 200;

/** A call that failed, in words that hold no secret. */
export interface Failure extends GraphError {
  reason: string;
}

/** The one door to the platform's API: `POST /{version}/{number}/messages`, and `GET /{version}/{number}`. */
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

  /** Null where the platform took it. Never throws. @param number_id of the business number that it is from */
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

  /** A business number as the platform shows it, or why it does not. Never throws. */
  async look(number_id: string): Promise<{ shown: string } | Failure> {
    const path = `${encodeURIComponent(number_id)}?fields=display_phone_number,verified_name`;
    const outcome = await this.#ask(path, { method: 'GET' });
    if ('reason' in outcome) return outcome;
    const number = stringOf(outcome.answer.display_phone_number);
    if (number === undefined) return { reason: 'an answer that is not the platform\u2019s', final: false };
    const name = stringOf(outcome.answer.verified_name);
    return { shown: name === undefined ? number : `${number} (${name})` };
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
    // A page of a proxy may call itself good: what the platform has not named, it has not taken.
    if (Array.isArray(messages) || success === true) return null;
    return { reason: 'an answer that is not the platform\u2019s', final: false, platform: 'unreachable' };
  }

  /** @param path below the version. Never throws. */
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
        // What people wrote goes to no other address than the configured one.
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

  /** A refusal for its content is an answer like any other: the platform is there. */
  #note(failure: Failure | null, isMessage: boolean): void {
    if (failure?.account !== undefined) {
      if (this.#account === null) this.#scope.log.error({ failure: failure.reason }, failure.account);
      this.#account = failure.account;
      // That messages may be marked as read does not say that others may be sent.
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
  // One that is no object is none of the platform's: the status says what became of the call.
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
  // An error in an answer that calls itself good is one all the same.
  const meaning = meaningOf(status < 400 && error !== null ? 400 : status, error?.code, error?.subcode);
  const asked = retryAfterSeconds(headers);
  const code = error?.code === undefined ? '' : `, code ${error.code}`;
  // Of a token that it does not take, the platform's words may quote the token.
  const words = meaning.account ?? error?.words ?? '';
  return {
    ...meaning,
    ...(asked === undefined ? {} : { retryAfterSeconds: asked }),
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
    // A proxy's page: its status says enough.
    return {};
  }
}

/** Never the error's own words: those of a header that cannot be sent would quote it, and with it the token. */
function whyUnreachable(error: unknown): string {
  if (!(error instanceof Error)) return 'the platform could not be reached';
  if (error.name === 'TimeoutError') return 'the platform did not answer in time';
  if (error.name === 'AbortError') return 'the call was given up';
  const { code } = fieldsOf(error.cause);
  return `the platform could not be reached: ${stringOf(code) ?? error.name}`;
}
