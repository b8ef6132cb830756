import { isObject } from '../../channel/json-object.ts';
import { maskTokens, type Secret } from '../settings/secret.ts';
import { printable } from '../texts/printable.ts';

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
  if (line === '') return null;
  return line.length <= WORDS_MAX ? line : `${line.slice(0, WORDS_MAX).toWellFormed()}…`;
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
