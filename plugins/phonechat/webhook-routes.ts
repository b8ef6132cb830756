import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import {
  type ChannelRequest,
  type ChannelResponse,
  type IncomingMessage,
  isSameSecret,
  type PushScope,
  type Route,
  TEXT_MAX,
} from '../../src/channel/index.ts';
import type { Configured } from './api.ts';
import { WEBHOOK_PATH } from './api.ts';
import { countStatuses } from './content.ts';
import { type Parsed, parse } from './parse.ts';

/** Maximum length of a challenge, in characters. The platform's challenges have ten digits. */
const CHALLENGE_MAX = 256;
/** Maximum size of a webhook, in bytes. The platform sends up to 3 MB (Meta, "WhatsApp Cloud API: Webhooks"). */
const BODY_LIMIT = 4 * 1024 * 1024;
/** Maximum number of messages in one call of `enqueue`. */
const ACCEPT_MAX = 1000;
/** Minimum time between two log lines about wrong signatures, in ms. */
const TELL_AGAIN_MS = 60_000;
/** Maximum number of unknown business numbers that are logged. */
const TOLD_MAX = 1000;

/**
 * The routes for the two requests of the platform: the challenge when the webhook is registered, and the webhook
 * itself.
 */
export function webhookRoutes(scope: PushScope, configured: Configured): readonly Route[] {
  const webhook = new Webhook(scope, configured);
  return [
    { method: 'GET', path: WEBHOOK_PATH, handle: (request) => answerChallenge(request, scope, configured) },
    {
      method: 'POST',
      path: WEBHOOK_PATH,
      contentType: 'application/json',
      bodyLimit: BODY_LIMIT,
      handle: (request) => webhook.receive(request),
    },
  ];
}

/** Answers the challenge (Meta, "Webhooks: verification requests"). */
function answerChallenge(
  { query }: ChannelRequest,
  scope: PushScope,
  { verify_token }: Configured,
): ChannelResponse {
  const challenge = query.get('hub.challenge') ?? '';
  const isAsked =
    query.get('hub.mode') === 'subscribe' && challenge !== '' && challenge.length <= CHALLENGE_MAX;
  if (!isSameSecret(query.get('hub.verify_token') ?? '', verify_token) || !isAsked)
    throw scope.problem(
      'forbidden',
      'The challenge needs hub.mode=subscribe and the configured verify token.',
    );
  return { headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: challenge };
}

/** Verifies, parses and stores a webhook, and only then answers 200. */
class Webhook {
  readonly #scope: PushScope;
  readonly #configured: Configured;
  readonly #app_secret: KeyObject;
  readonly #told = new Set<string>();
  #toldOfSignature = Number.NEGATIVE_INFINITY;

  constructor(scope: PushScope, configured: Configured) {
    this.#scope = scope;
    this.#configured = configured;
    this.#app_secret = createSecretKey(Buffer.from(configured.app_secret));
  }

  async receive(request: ChannelRequest): Promise<ChannelResponse> {
    if (!isSigned(request.body, request.headers['x-hub-signature-256'], this.#app_secret))
      throw this.#notSigned(request);
    const parsed = parse(request.json(), this.#configured.numbers);
    this.#log(parsed, request.id);
    for (const messages of inCalls(parsed.messages)) {
      const [first] = messages;
      if (first?.confirm) await this.#take(first, request);
      else await this.#scope.enqueue(messages, request);
    }
    for (const edited of parsed.edits) await this.#scope.edit(edited, request);
    for (const { message_id, user_id, reply_to, text, what } of parsed.hints) {
      const values = { max: TEXT_MAX.toLocaleString('en'), what: what === null ? '' : this.#scope.say(what) };
      // The caption of a message is enqueued with the id of the message, so the hint needs another id.
      await this.#scope.notify(reply_to, this.#scope.say(text, values), {
        message_id: `hint:${message_id}`,
        user_id,
        throttle_key: user_id,
      });
    }
    return { status: 200 };
  }

  /**
   * Enqueues a press. If it is refused, tells the person why. In a group, no text is sent, because other people would
   * read it.
   */
  async #take(press: IncomingMessage, request: ChannelRequest): Promise<void> {
    const outcome = await this.#scope.press(press, request);
    if (outcome.outcome === 'enqueued' || press.shared) return;
    const { message_id = '', user_id, reply_to = {} } = press;
    await this.#scope.notify(reply_to, outcome.text, {
      message_id: `hint:${message_id}`,
      user_id,
      throttle_key: user_id,
    });
  }

  #notSigned({ id }: ChannelRequest): Error {
    const now = this.#scope.now();
    if (now - this.#toldOfSignature >= TELL_AGAIN_MS) {
      this.#toldOfSignature = now;
      this.#scope.log.warn(
        { request_id: id },
        'a webhook with a missing or wrong signature was refused; if the platform sent it, PHONECHAT_APP_SECRET is wrong',
      );
    }
    return this.#scope.problem(
      'invalid_signature',
      'The header X-Hub-Signature-256 is missing, or does not match the body.',
    );
  }

  #log({ statuses, elsewhere, ignored, errors }: Parsed, request_id: string): void {
    const { log } = this.#scope;
    if (statuses.length > 0)
      log.debug({ request_id, statuses: countStatuses(statuses) }, 'message statuses arrived');
    for (const { status, error, message_id } of statuses) {
      if (status === 'failed')
        log.warn({ request_id, message_id, ...error }, 'the platform could not deliver a message');
    }
    if (ignored.size > 0)
      log.debug({ request_id, ignored: Object.fromEntries(ignored) }, 'parts of a webhook were ignored');
    for (const error of errors)
      log.warn({ request_id, error }, 'the platform reports a problem with the account');
    for (const number_id of elsewhere) this.#tellOfNumber(number_id);
  }

  /** Logs each number only once, because messages for other numbers may be frequent. */
  #tellOfNumber(number_id: string): void {
    if (this.#told.has(number_id) || this.#told.size >= TOLD_MAX) return;
    this.#told.add(number_id);
    this.#scope.log.warn(
      { number_id: number_id.slice(0, 64).toWellFormed() },
      'messages for a business number that is not in PHONECHAT_PHONE_NUMBER_ID are ignored',
    );
  }
}

/** Messages in their order, as `enqueue` takes them: a press is by itself. */
function inCalls(messages: readonly IncomingMessage[]): IncomingMessage[][] {
  const calls: IncomingMessage[][] = [];
  for (const message of messages) {
    const last = calls.at(-1);
    if (last === undefined || message.confirm || last[0]?.confirm || last.length === ACCEPT_MAX)
      calls.push([message]);
    else last.push(message);
  }
  return calls;
}

/**
 * Whether the platform signed these bytes. `X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of the raw body with
 * the app secret, in hexadecimal (Meta, "Webhooks: validating payloads"). The comparison takes constant time.
 * @param app_secret pass a `KeyObject` so that the secret is imported only once
 */
export function isSigned(
  body: Uint8Array,
  header: string | undefined,
  app_secret: string | KeyObject,
): boolean {
  return isSameSecret((header ?? '').toLowerCase(), signRequest(body, app_secret));
}

/** The signature header for a body. Simulators use it. */
export function signRequest(body: string | Uint8Array, app_secret: string | KeyObject): string {
  return `sha256=${createHmac('sha256', app_secret).update(body).digest('hex')}`;
}
