import { APICallError } from 'ai';
import { retryAfterSeconds } from '../../../channel/index.ts';
import { isObject } from '../../../channel/json-object.ts';
import { maskTokens, type Secret } from '../../settings/secret.ts';
import { cutText, printable } from '../../texts/printable.ts';
import { isNetworkFailure } from '../../time/retry.ts';
import { AgentFailure } from '../agent.ts';

/**
 * The coded failure of a model call, for the trace: `model_unreachable` (there was no answer), `model_overloaded` (408,
 * 429, 5xx), `model_refused` (another 4xx, because of the key, the model's name or the size of the prompt, for example;
 * a repeat would be refused, too), `model_broken_stream` (the answer broke off, or does not follow the protocol). The
 * first two are temporary. So is `model_broken_stream` if the network broke the stream.
 *
 * The SDK's error contains the whole prompt, so neither the error nor its message is passed on. Only its name, its
 * status and the server's words about the refusal are passed on.
 * @param keys API keys of the models
 */
export function modelFailure(error: unknown, keys: readonly Secret[] = []): AgentFailure {
  if (APICallError.isInstance(error)) return ofCall(error, readWords(error, keys));
  const passing = isNetworkFailure(error);
  return broken(error instanceof Error ? error.name : 'error in the stream', passing);
}

/**
 * The name of an SDK error with its status and the server's words, or the code of the connection failure. Nothing else
 * of the error may be logged.
 */
export function describeModelError(
  error: unknown,
  keys: readonly Secret[],
): { name: string; status?: number; said?: string; code?: string } {
  const name = error instanceof Error ? error.name : 'StreamError';
  if (APICallError.isInstance(error) && error.statusCode !== undefined) {
    const said = readWords(error, keys);
    return { name, status: error.statusCode, ...(said === null ? {} : { said }) };
  }
  const code = connectionCode(error);
  return code === undefined ? { name } : { name, code };
}

/** `ECONNREFUSED`, `ENOTFOUND`, …, of the error or of its cause. */
function connectionCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return undefined;
}

function ofCall({ statusCode: status, responseHeaders }: APICallError, said: string | null): AgentFailure {
  if (status === undefined)
    return new AgentFailure('model_unreachable', 'the model server cannot be reached', { passing: true });
  if (status >= 200 && status < 300) return broken(`status ${status}`, false);
  const words = said === null ? '' : `: ${said}`;
  const detail = { status, ...(said === null ? {} : { said }) };
  if (status !== 408 && status !== 429 && status < 500) {
    return new AgentFailure('model_refused', `the model server refused the request with ${status}${words}`, {
      detail,
    });
  }
  const wait = askedSeconds(new Headers(responseHeaders));
  return new AgentFailure('model_overloaded', `the model server answered ${status}${words}`, {
    passing: true,
    retryAfterSeconds: wait,
    detail: wait === undefined ? detail : { ...detail, retry_after_seconds: wait },
  });
}

/** `retry-after-ms` is more exact than `Retry-After`; OpenAI and compatible servers send both. */
function askedSeconds(headers: Headers): number | undefined {
  const ms = headers.get('retry-after-ms')?.trim() ?? '';
  return /^\d{1,12}(\.\d+)?$/.test(ms) ? Number(ms) / 1000 : retryAfterSeconds(headers);
}

function readWords(
  { responseBody, requestBodyValues }: APICallError,
  keys: readonly Secret[],
): string | null {
  return providerWords(responseBody, { keys, request: requestBodyValues });
}

function broken(what: string, passing: boolean): AgentFailure {
  const words = `the model's answer was cut off or cannot be read (${what})`;
  return new AgentFailure('model_broken_stream', words, { passing });
}

/** Longest text that is kept, characters. */
const WORDS_MAX = 300;
/** How much of the server's text is examined, characters. */
const READ_MAX = 600;
/** Shortest piece of the request that counts as a quotation of it, characters. */
const QUOTATION_MIN = 20;
/** Shortest text of the request that counts as quoted if the answer contains all of it, characters. */
const TEXT_MIN = 6;
/** Shortest piece of the key that is masked, characters. */
const KEY_PIECE_MIN = 6;
/** Members of a request that contain no text of a person, no prompt and no result of a tool. */
const NO_CONTENT: readonly string[] = ['model', 'role', 'type', 'name', 'id', 'tool_choice', 'tools'];
/** Keys in the forms that common servers use, including keys with asterisks in the middle. */
const KEYS = /\b(?:Bearer\s+\S+|(?:sk|pk|rk|gsk|xai|key|api)[-_][\w*.-]{5,}[\w*]|[A-Za-z0-9_*]{24,})/gi;

/**
 * The reason that a model server gives for a refusal, for the operator: one line, bounded, with keys and tokens masked.
 * It must never reach the person who wrote the message.
 * @param body body of the server's answer
 * @param options.keys API keys of the models
 * @param options.request the request that the server got; an answer that quotes its texts is not kept
 * @returns null if the answer contains nothing that may be kept
 */
export function providerWords(
  body: string | null | undefined,
  { keys, request }: { keys: readonly Secret[]; request?: unknown },
): string | null {
  const said = messageIn(body ?? '')?.slice(0, READ_MAX) ?? null;
  if (said === null || quotes(said, request)) return null;
  const masked = maskTokens(
    maskPieces(
      said,
      keys.map((key) => key.reveal()),
    ),
  ).replace(KEYS, '[key]');
  const line = printable(masked).trim();
  return line === '' ? null : cutText(line, WORDS_MAX);
}

/** `error.message`, `error`, `message` or `detail` of a JSON body; a plain text body unchanged. */
function messageIn(body: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // Error pages of proxies say nothing about the model.
    return body.trimStart().startsWith('<') ? null : body;
  }
  const { error, message, detail } = isObject(value) ? value : {};
  const found = [isObject(error) ? error.message : error, message, detail, value];
  return found.find((one) => typeof one === 'string') ?? null;
}

function quotes(said: string, request: unknown): boolean {
  for (const text of textsIn(request)) {
    if (text.length >= TEXT_MIN && said.includes(text)) return true;
    for (let at = 0; at + QUOTATION_MIN <= said.length; at++)
      if (text.includes(said.slice(at, at + QUOTATION_MIN))) return true;
  }
  return false;
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value.trim();
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value))
      if (!NO_CONTENT.includes(name)) yield* textsIn(member);
}

/** Masks every piece of a key, even if the text contains only a part of the key. */
function maskPieces(text: string, keys: readonly string[]): string {
  const isKey = new Array<boolean>(text.length).fill(false);
  for (let at = 0; at + KEY_PIECE_MIN <= text.length; at++)
    if (keys.some((key) => key.includes(text.slice(at, at + KEY_PIECE_MIN))))
      isKey.fill(true, at, at + KEY_PIECE_MIN);
  const shown = text.split('').map((unit, at) => (isKey[at] ? (isKey[at - 1] ? '' : '[key]') : unit));
  return shown.join('');
}
