/** What kind of refusal an answer of the platform is. */
export type Refusal =
  /** Calls come too fast. */
  | 'rate'
  /** The platform, or the way to it, has failed. */
  | 'outage'
  /** It does not know the bot. */
  | 'credentials'
  /** It cannot read our markup; the words may pass without. */
  | 'markup'
  /** The group has become another chat. */
  | 'migrated'
  /** The message to be deleted is not there any more. */
  | 'gone'
  /** The message, the chat or the person does not take it, now or later. */
  | 'refused';

/**
 * The platform's refusals by code and words (Bot API, "Making requests", "ResponseParameters"; the words are
 * its server's). The first row that fits counts; all that is not here is `refused`, which is final: a 4xx of
 * the platform is not tried again (decisions §6).
 */
const REFUSALS: readonly { code: number | readonly [number, number]; words?: RegExp; is: Refusal }[] = [
  { code: 429, is: 'rate' },
  { code: 408, is: 'outage' },
  // Not the platform that answers, but something in between.
  { code: [200, 399], is: 'outage' },
  { code: [500, 599], is: 'outage' },
  // The platform answers 404 to a token that has not the form of one, 401 to one that is none of its own.
  { code: 401, is: 'credentials' },
  { code: 404, words: /^Not Found$/, is: 'credentials' },
  { code: 400, words: /can't parse entities/i, is: 'markup' },
  { code: 400, words: /message to delete not found/i, is: 'gone' },
  // 403: blocked by the person, kicked from the group, an account that is no more, a first word to a stranger.
  { code: 403, is: 'refused' },
  // 400: chat not found, message is too long, TOPIC_CLOSED, message thread not found, not enough rights, …
  { code: 400, is: 'refused' },
];

/** `ResponseParameters` of the Bot API. */
interface Parameters {
  migrate_to_chat_id?: number;
  retry_after?: number;
}

/** A call that the platform did not grant. Its message is for the operator and holds no secret. */
export class PlatformFailure extends Error {
  readonly refusal: Refusal;
  readonly retryAfterSeconds: number | undefined;
  /** Set if the failure concerns the platform as a whole (`DeliveryFailure.platform`). */
  readonly platform: 'unreachable' | 'credentials' | undefined;
  /** Where the chat is now. */
  readonly movedTo: number | undefined;

  /**
   * @param code of the platform's answer; null: there was none.
   * @param words of the platform.
   */
  constructor(code: number | null, words: string, parameters: Parameters = {}) {
    super(code === null ? words : `${words} (${code})`);
    this.name = 'PlatformFailure';
    const { migrate_to_chat_id, retry_after } = parameters;
    this.movedTo = Number.isSafeInteger(migrate_to_chat_id) ? migrate_to_chat_id : undefined;
    this.retryAfterSeconds = typeof retry_after === 'number' && retry_after > 0 ? retry_after : undefined;
    this.refusal = this.movedTo === undefined ? refusalOf(code, words) : 'migrated';
    this.platform = platformOf(this.refusal, code);
  }

  /** The same call would be refused again. */
  get isFinal(): boolean {
    return this.refusal !== 'rate' && this.refusal !== 'outage';
  }
}

/**
 * A call that got no answer. What was thrown may name the address, and so the token: it is not kept.
 * @param error of `fetch`
 */
export function unanswered(error: unknown): PlatformFailure {
  const { name, cause } = error instanceof Error ? error : new Error();
  if (name === 'TimeoutError' || name === 'AbortError')
    return new PlatformFailure(null, 'it did not answer in time');
  const code = (cause as { code?: unknown } | undefined)?.code;
  const isPlain = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code);
  return new PlatformFailure(null, `it cannot be reached${isPlain ? ` (${code})` : ''}`);
}

function platformOf(refusal: Refusal, code: number | null): PlatformFailure['platform'] {
  if (refusal === 'credentials') return 'credentials';
  return refusal === 'outage' && code !== 408 ? 'unreachable' : undefined;
}

function refusalOf(code: number | null, words: string): Refusal {
  if (code === null) return 'outage';
  const row = REFUSALS.find(
    ({ code: wanted, words: pattern }) =>
      (typeof wanted === 'number' ? wanted === code : wanted[0] <= code && code <= wanted[1]) &&
      (pattern === undefined || pattern.test(words)),
  );
  return row?.is ?? 'refused';
}
