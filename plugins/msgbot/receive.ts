import {
  type ChannelRequest,
  type ChannelScope,
  type ChannelText,
  type Fields,
  isSameSecret,
  type JsonObject,
  type PushScope,
  RecentMap,
} from '../../src/channel/index.ts';
import { type PlatformApi, PlatformFailure } from './api.ts';
import type { Bot } from './bot.ts';
import {
  type NoWords,
  type Parsed,
  type ParsedCommand,
  type Place,
  type Press,
  parse,
  readPress,
  readReaction,
} from './parse.ts';
import { signedIn, TEXTS } from './texts.ts';

/** How long an update that depends on the bot's name waits for that name, in ms. */
const NAME_WAIT_MS = 2000;
/** Maximum number of albums that are remembered because one of their messages has text. */
const ALBUMS_MAX = 1000;

const HINTS = {
  content: TEXTS.text_only,
  empty: TEXTS.nothing_said,
  'too-long': TEXTS.too_long,
} as const;

/**
 * Handles the platform's updates. When `receive` resolves, the daemon answers 200, and the platform does not deliver
 * the update again.
 */
export class Receiver {
  readonly #scope: PushScope;
  readonly #bot: Bot;
  readonly #api: PlatformApi;
  readonly #secret: string;
  readonly #albumsWithWords = new RecentMap<string, true>(ALBUMS_MAX);

  constructor(scope: PushScope, bot: Bot, api: PlatformApi, secret: string) {
    this.#scope = scope;
    this.#api = api;
    this.#bot = bot;
    this.#secret = secret;
  }

  /** @throws `invalid_signature`, `malformed_json`, or `unavailable` if nothing was stored */
  async receive(request: ChannelRequest): Promise<void> {
    if (!isSigned(request.headers[SECRET_HEADER], this.#secret))
      throw this.#scope.problem('invalid_signature', 'The secret token of the webhook is missing or wrong.');
    const press = readPress(request.json());
    if (press !== null) return this.#take(press, request);
    const reaction = readReaction(request.json());
    if (reaction !== null) {
      await this.#scope.rate(reaction);
      return;
    }
    const parsed = await this.#parse(request.json());
    switch (parsed.kind) {
      case 'message':
        if (parsed.album !== null) this.#albumsWithWords.set(parsed.album, true);
        await this.#scope.enqueue([parsed.message], request);
        return;
      case 'overheard':
        await this.#scope.links.takeCode(parsed.message, request);
        return;
      case 'edit':
        await this.#scope.edit(parsed.edited, request);
        return;
      case 'command':
        if (parsed.started !== null && (await this.#scope.links.takeCode(parsed.started, request))) return;
        return this.#answer(parsed, request);
      case 'no-words':
        return this.#hint(parsed);
      case 'nothing':
        this.#scope.log.debug({ request_id: request.id, why: parsed.why }, 'update ignored');
    }
  }

  /**
   * Enqueues the press of a button, and answers its query. The person's app waits for this answer, and shows its text
   * only to this person.
   */
  async #take({ query_id, message }: Press, request: ChannelRequest): Promise<void> {
    const outcome = message === null ? null : await this.#scope.press(message, request);
    // Not awaited: the press is already stored, and if the answer were slow, the platform would deliver the press
    // again.
    void this.#answerPress(query_id, outcome?.outcome === 'refused' ? outcome.text : null);
  }

  async #answerPress(query_id: string, text: string | null): Promise<void> {
    try {
      const shown = text === null ? {} : { text, show_alert: true };
      await this.#api.call('answerCallbackQuery', { callback_query_id: query_id, ...shown });
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      // No retry is needed: the app stops waiting by itself.
      this.#scope.log.debug({ failure: error.message }, 'the press of a button could not be acknowledged');
    }
  }

  /**
   * A message that may be for the bot is refused until the bot's name is known. The platform keeps the update for a day
   * and delivers it again. It still delivers the updates of other chats, because it has a separate queue for each chat.
   */
  async #parse(update: Fields): Promise<Exclude<Parsed, { kind: 'unclear' }>> {
    const parsed = parse(update, this.#bot);
    if (parsed.kind !== 'unclear') return parsed;
    await this.#bot.whenKnown(NAME_WAIT_MS);
    const again = parse(update, this.#bot);
    if (again.kind !== 'unclear') return again;
    throw this.#scope.problem('unavailable', 'The name of the bot is not known yet.');
  }

  async #answer(parsed: ParsedCommand, request: ChannelRequest): Promise<void> {
    const { place, user_id } = parsed;
    if (parsed.command.name !== 'service_auth') {
      const { text } = await answerCommand(parsed, request, this.#scope);
      // A person can send these commands any number of times, and the loop guard does not count the answers. So the
      // answers are limited for each person and command.
      return this.#giveHint({ ...place, user_id }, text, `${user_id} ${parsed.command.name}`);
    }
    const { text, hidesMessage } = await answerCommand(parsed, request, this.#scope);
    // The inbox retries the deletion together with the answer: when people read the answer, the token is deleted, or
    // the answer says that it is not.
    const reply_to: JsonObject = hidesMessage
      ? { ...place.reply_to, deletes: parsed.message, locale: place.locale }
      : place.reply_to;
    await this.#scope.notify(reply_to, text, { message_id: place.message_id, user_id });
  }

  async #hint({ place, user_id, about, album }: NoWords): Promise<void> {
    if (album !== null && this.#albumsWithWords.has(album)) return;
    await this.#giveHint(
      { ...place, user_id, message_id: album ?? place.message_id },
      this.#scope.say(HINTS[about], {}, place.locale),
    );
  }

  async #giveHint(
    { reply_to, message_id, user_id }: Place & { user_id: string },
    text: string,
    about = '',
  ): Promise<void> {
    await this.#scope.notify(reply_to, text, {
      message_id,
      user_id,
      throttle_key: `${reply_to.chat} ${about}`.trim(),
    });
  }
}

interface CommandAnswer {
  text: string;
  /** Whether to delete the message, because it contains a token. */
  hidesMessage: boolean;
}

/**
 * Runs a command of the channel and returns the answer. A repeated delivery changes nothing and gets the same answer.
 * The outcome of linking is shown only in private chats.
 * @throws `unavailable` if the store is unreachable
 */
async function answerCommand(
  { command, inPrivate, forwarded, user_id, place: { message_id, locale } }: ParsedCommand,
  request: ChannelRequest,
  scope: Pick<ChannelScope, 'links' | 'say'>,
): Promise<CommandAnswer> {
  const { links } = scope;
  const say = (text: ChannelText) => scope.say(text, {}, locale);
  if (command.name !== 'service_auth')
    return { text: say(inPrivate ? TEXTS.greeting : TEXTS.greeting_in_group), hidesMessage: false };
  const { argument } = command;
  const isOff = argument.toLowerCase() === 'off';
  const hidesMessage = argument !== '' && !isOff;
  if (!inPrivate) return { text: say(TEXTS.not_in_groups), hidesMessage };
  if (argument === '') return { text: say(TEXTS.token_missing), hidesMessage };
  // A person who forwards another person's message does not ask to sign in.
  if (forwarded) return { text: say(TEXTS.forwarded), hidesMessage };
  if (isOff) {
    const removed = await links.unlink(user_id, { message_id, request });
    return { text: say(removed ? TEXTS.signed_out : TEXTS.was_not_signed_in), hidesMessage };
  }
  const answer = await links.link(user_id, argument, { message_id, request });
  const text = answer.linked
    ? signedIn(scope, answer, locale)
    : scope.say(TEXTS.not_signed_in, { reason: answer.reason }, locale);
  return { text, hidesMessage };
}

/** Header in which the platform sends the secret of `setWebhook` with each update. */
const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

/**
 * Whether a webhook comes from the platform. The platform does not sign updates: it sends the secret. Hashes of equal
 * length are compared in constant time, so that the duration reveals neither the content nor the length of the secret.
 */
export function isSigned(header: string | undefined, secret: string): boolean {
  return header !== undefined && isSameSecret(header, secret);
}
