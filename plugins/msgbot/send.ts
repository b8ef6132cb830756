import {
  asFields,
  type ChannelText,
  type ClosedQuestion,
  type Fields,
  type JsonObject,
  type OutgoingReply,
  type PushScope,
  RecentMap,
} from '../../src/channel/index.ts';
import { type PlatformApi, PlatformFailure } from './api.ts';
import { sentId } from './parse.ts';
import { readId } from './read-update.ts';
import type { Part } from './render.ts';
import { TEXTS } from './texts.ts';

/**
 * Maximum time between the start of the first part and the start of the last part, in ms. The daemon stops waiting for
 * `send` after a minute.
 */
const BEGIN_WITHIN_MS = 40_000;
/** Maximum number of replies that are remembered because the message with the token could not be deleted yet. */
const UNDELETED_MAX = 1000;
/** Maximum number of groups that are remembered because they have a new chat id. */
const MOVED_MAX = 1000;

/** The destination of a text: the `reply_to` that parse.ts makes. */
interface Target {
  chat: number;
  topic: number | null;
  /** Id of the message to which the text replies. */
  answers: number | null;
  /** Id of a message with a token, which is deleted before the reply is sent. */
  deletes: number | null;
  /** The language of the person who sent the message with the token. */
  locale: string | null;
}

/** Loads what renders a reply, which only a daemon with this channel needs. */
export const loadRenderer = () => import('./render.ts');

/** Sends replies and notices. */
export class Sender {
  readonly #scope: PushScope;
  readonly #api: PlatformApi;
  readonly #moved = new RecentMap<number, number>(MOVED_MAX);
  readonly #undeleted = new RecentMap<string, true>(UNDELETED_MAX);

  constructor(scope: PushScope, api: PlatformApi) {
    this.#scope = scope;
    this.#api = api;
  }

  /**
   * Resolves when the platform has received all parts.
   * @throws the error of `scope.deliveryFailed`
   */
  async send({ id, text, reply_to, confirmation }: OutgoingReply): Promise<void> {
    const target = readTarget(reply_to);
    const latest = this.#scope.now() + BEGIN_WITHIN_MS;
    try {
      await this.#scope.sendParts(
        id,
        () => this.#toParts(id, text, target, confirmation),
        async (part, index) => {
          if (this.#scope.now() > latest)
            throw this.#scope.deliveryFailed('sending takes too long', { final: false });
          return this.#sendPart(target, part, index === 0);
        },
      );
    } catch (error) {
      throw error instanceof PlatformFailure ? this.#deliveryFailed(error) : error;
    }
  }

  /**
   * Takes the buttons away from a question, and says below it what became of it.
   * @throws the error of `scope.deliveryFailed`
   */
  async close({ sent_id, confirmation, outcome }: ClosedQuestion): Promise<void> {
    const [chat = 0, message = 0] = sent_id.split(':').map(Number);
    const part = await (await loadRenderer()).closedPart(confirmation, outcome);
    // A question without buttons stays as it is.
    if (part === null) return;
    const { text } = part;
    try {
      await this.#inChat(chat, (chat_id) => {
        const at = { chat_id, message_id: message };
        return text === null
          ? this.#api.call('editMessageReplyMarkup', at)
          : this.#api.call('editMessageText', {
              ...at,
              text,
              parse_mode: 'HTML',
              link_preview_options: { is_disabled: true },
            });
      });
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      // An earlier attempt has changed the message.
      if (error.refusal !== 'unchanged') throw this.#deliveryFailed(error);
    }
  }

  async showTyping(reply_to: JsonObject): Promise<void> {
    const { chat, topic } = readTarget(reply_to);
    await this.#inChat(chat, (chat_id) =>
      this.#api.call('sendChatAction', { chat_id, action: 'typing', ...inTopic(topic) }),
    );
  }

  /**
   * Returns the messages to send. First deletes the message with a token. If that fails, adds a text that asks the
   * sender to delete it.
   */
  async #toParts(
    id: string,
    text: string,
    { chat, deletes, locale }: Target,
    confirmation: OutgoingReply['confirmation'],
  ): Promise<readonly Part[]> {
    const failed = deletes === null ? null : await this.#delete(id, chat, deletes);
    const trouble = failed === null ? null : this.#scope.say(failed, {}, locale);
    const { renderParts } = await loadRenderer();
    const whole = trouble === null ? text : `${text}\n\n${trouble}`;
    return renderParts(confirmation ? { text: whole, confirmation } : { text: whole });
  }

  /**
   * Deletes a message with a token. Returns null if it was deleted, else a text that asks its sender to delete it. When
   * the platform fails for the first time, this method throws, and the whole reply is retried. After the second
   * failure, the reply is sent with that text, so that the sender can delete the message soon.
   */
  async #delete(id: string, chat: number, message: number): Promise<ChannelText | null> {
    try {
      await this.#inChat(chat, (chat_id) =>
        this.#api.call('deleteMessage', { chat_id, message_id: message }),
      );
      return null;
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      if (error.refusal === 'gone') return null;
      if (!error.isFinal && this.#isFirstTry(id)) throw error;
      this.#scope.log.warn({ failure: error.message }, 'a message with a token could not be deleted');
      return error.isFinal ? TEXTS.delete_it_yourself : TEXTS.could_not_delete;
    }
  }

  #isFirstTry(id: string): boolean {
    if (this.#undeleted.has(id)) return false;
    this.#undeleted.set(id, true);
    return true;
  }

  /** @returns the id of the message; null if the platform did not report it */
  async #sendPart({ chat, topic, answers }: Target, part: Part, isFirst: boolean): Promise<string | null> {
    const sendAs = (text: string, as: { parse_mode?: 'HTML' }) =>
      this.#inChat(chat, (chat_id) =>
        this.#api.call('sendMessage', {
          chat_id,
          text,
          ...as,
          ...(part.reply_markup === undefined ? {} : { reply_markup: part.reply_markup }),
          link_preview_options: { is_disabled: true },
          ...inTopic(topic),
          // The id of a message in the old chat does not exist in the new chat.
          ...(isFirst && answers !== null && chat_id === chat
            ? { reply_parameters: { message_id: answers, allow_sending_without_reply: true } }
            : {}),
        }),
      );
    try {
      return readMessageId(await sendAs(part.text, { parse_mode: 'HTML' }));
    } catch (error) {
      if (!(error instanceof PlatformFailure) || error.refusal !== 'markup') throw error;
      this.#scope.log.warn(
        { failure: error.message },
        'the platform cannot read the markup; the reply was sent as plain text',
      );
      const { plainText } = await loadRenderer();
      return readMessageId(await sendAs(plainText(part.text), {}));
    }
  }

  /**
   * Calls the API for a chat. If a group has become a supergroup, it has a new id, and the call is repeated with that
   * id.
   */
  async #inChat(chat: number, work: (chat: number) => Promise<Fields>): Promise<Fields> {
    try {
      return await work(this.#moved.get(chat) ?? chat);
    } catch (error) {
      if (!(error instanceof PlatformFailure) || error.movedTo === undefined) throw error;
      this.#moved.set(chat, error.movedTo);
      return work(error.movedTo);
    }
  }

  #deliveryFailed({ message, isFinal, retry_after_seconds, platform }: PlatformFailure): Error {
    return this.#scope.deliveryFailed(message, {
      final: isFinal,
      ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
      ...(platform === undefined ? {} : { platform }),
    });
  }
}

/** @param sent the platform's answer, which a gateway may have changed */
function readMessageId({ chat: at, message_id }: Fields): string | null {
  const [chat, message] = [readId(asFields(at).id), readId(message_id)];
  return chat === null || message === null ? null : sentId(chat, message);
}

function inTopic(topic: number | null): { message_thread_id?: number } {
  return topic === null ? {} : { message_thread_id: topic };
}

function readTarget({ chat, topic, answers, deletes, locale }: JsonObject): Target {
  if (typeof chat !== 'number') throw new Error('the reply has no chat');
  const numberOr = (value: unknown) => (typeof value === 'number' ? value : null);
  return {
    chat,
    topic: numberOr(topic),
    answers: numberOr(answers),
    deletes: numberOr(deletes),
    locale: typeof locale === 'string' ? locale : null,
  };
}
