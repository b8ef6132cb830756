import { hash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import {
  type Fields,
  jsonObjectOrNull,
  type Shown,
  type SimulatedApi,
  type SimulatedApiAnswer,
  type SimulatedApiCall,
  type SimulatedRefusal,
  type SimulatedRefused,
} from '../../src/channel/index.ts';
import { parseBotId } from './bot.ts';
import { type ParsedHtml, parseHtml } from './simulator-html.ts';

/** The simulated bot. Its id is part of its token. */
export const BOT_USERNAME = 'agentd_bot';
export const BOT_NAME = 'agentd';

/** A group with topics. */
export const GROUP = {
  id: -1005550100,
  title: 'The simulated group',
  type: 'supergroup',
  is_forum: true,
} as const;

/** Maximum length of a message, in UTF-16 units, not counting its markup. */
const TEXT_MAX = 4096;
/**
 * The id of the bot's first message. It is large, so that the bot's messages and people's messages have different ids.
 */
const FIRST_MESSAGE = 1_000_001;

/** The answer of a method. A string means a bad request, and is the platform's description of it. */
type Outcome = { result: unknown; shown?: readonly Shown[] } | string;

/** The part of the Bot API that the channel uses, with the answers of the platform's server. */
export class BotApi implements SimulatedApi {
  readonly #token: string;
  /** Ids of the bot's own messages and of deleted messages, as `<chat>:<message>`. */
  readonly #sent = new Set<string>();
  readonly #deleted = new Set<string>();
  #last = FIRST_MESSAGE - 1;
  /** The simulator delivers updates without a registered webhook, so it reports this one. */
  #webhook: object = { url: 'https://simulate.invalid/webhook/msgbot' };

  constructor(token: string) {
    this.#token = token;
  }

  answer({ path, headers, body }: SimulatedApiCall): SimulatedApiAnswer {
    const [, token, method] = /^\/bot([^/]*)\/([^/?]*)(?:\?|$)/.exec(path) ?? [];
    // To the platform, a path with a malformed token is an unknown path.
    if (token === undefined || method === undefined || !/^\d+:[\w-]+$/.test(token))
      return refusal(404, 'Not Found');
    if (token !== this.#token) return refusal(401, 'Unauthorized');
    const payload = parsePayload(headers['content-type'], body);
    if (payload === null) return refusal(400, "Bad Request: can't parse JSON object");
    const outcome = this.#call(method, payload);
    if (outcome === null) return refusal(404, 'Not Found: method not found');
    if (typeof outcome === 'string') return refusal(400, `Bad Request: ${outcome}`);
    return { status: 200, body: { ok: true, result: outcome.result }, shown: outcome.shown ?? [] };
  }

  /** Method names are case-insensitive. */
  #call(method: string, payload: Fields): Outcome | null {
    switch (method.toLowerCase()) {
      case 'getme':
        return { result: { ...this.#bot, ...ABILITIES } };
      case 'setwebhook':
        return this.#setWebhook(payload);
      case 'getwebhookinfo':
        return { result: { has_custom_certificate: false, pending_update_count: 0, ...this.#webhook } };
      case 'sendmessage':
        return this.#sendMessage(payload);
      case 'editmessagetext':
        return this.#editMessage(payload);
      case 'editmessagereplymarkup':
        return this.#editMessage({ ...payload, text: '…' });
      case 'sendchataction':
        return this.#sendChatAction(payload);
      case 'answercallbackquery':
        return answerCallbackQuery(payload);
      case 'deletemessage':
        return this.#deleteMessage(payload);
      default:
        return null;
    }
  }

  #setWebhook({ url, secret_token, allowed_updates }: Fields): Outcome {
    const address = URL.parse(String(url));
    if (address?.protocol !== 'https:') return 'bad webhook: An HTTPS URL must be provided for webhook';
    if (secret_token !== undefined && !/^[\w-]{1,256}$/.test(String(secret_token)))
      return 'secret token contains unallowed characters';
    this.#webhook = {
      url: String(url),
      max_connections: 40,
      ip_address: '203.0.113.7',
      ...(Array.isArray(allowed_updates) && allowed_updates.length > 0 ? { allowed_updates } : {}),
    };
    return { result: true };
  }

  /** The bot can edit only its own messages. Without a keyboard in the call, the message has none from then on. */
  #editMessage(payload: Fields): Outcome {
    const chat = findChat(payload);
    if (typeof chat === 'string') return chat;
    const message_id = Number(payload.message_id);
    if (!(message_id > 0)) return 'message identifier is not specified';
    if (message_id < FIRST_MESSAGE) return "message can't be edited";
    const written = parseText(payload);
    if (typeof written === 'string') return written;
    const buttons = buttonsIn(payload.reply_markup);
    if (typeof buttons === 'string') return buttons;
    const result = {
      message_id,
      from: this.#bot,
      chat,
      date: Math.floor(Date.now() / 1000),
      ...written.content,
    };
    return { result, shown: [{ ...shown('edited', payload, written.markup), ...buttons }] };
  }

  #sendMessage(payload: Fields): Outcome {
    const chat = findChat(payload);
    if (typeof chat === 'string') return chat;
    const { message_thread_id } = payload;
    const written = parseText(payload);
    if (typeof written === 'string') return written;
    const { markup, content } = written;
    const message_id = ++this.#last;
    this.#sent.add(`${chat.id}:${message_id}`);
    const result = {
      message_id,
      from: this.#bot,
      chat,
      date: Math.floor(Date.now() / 1000),
      ...content,
      ...(message_thread_id === undefined ? {} : { message_thread_id, is_topic_message: true }),
    };
    const buttons = buttonsIn(payload.reply_markup);
    if (typeof buttons === 'string') return buttons;
    return { result, shown: [{ ...shown('message', payload, markup), ...buttons }] };
  }

  #sendChatAction(payload: Fields): Outcome {
    const chat = findChat(payload);
    if (typeof chat === 'string') return chat;
    if (payload.action !== 'typing') return 'wrong parameter action in request';
    return { result: true, shown: [shown('typing', payload, '')] };
  }

  /** The bot is not an administrator of the group, so it can delete only its own messages. */
  #deleteMessage(payload: Fields): Outcome {
    const chat = findChat(payload);
    if (typeof chat === 'string') return chat;
    const key = `${chat.id}:${Number(payload.message_id)}`;
    if (!(Number(payload.message_id) > 0)) return 'message identifier is not specified';
    if (this.#deleted.has(key)) return 'message to delete not found';
    if (chat.type !== 'private' && !this.#sent.has(key)) return "message can't be deleted";
    this.#deleted.add(key);
    return { result: true, shown: [shown('deleted', payload, '')] };
  }

  get #bot() {
    return { id: botId(this.#token), is_bot: true, first_name: BOT_NAME, username: BOT_USERNAME };
  }
}

/** The text of a call as it was written and as it is sent, or why the platform refuses it. */
function parseText({
  text: given,
  parse_mode,
}: Fields): { markup: string; content: { text: string; entities?: ParsedHtml['entities'] } } | string {
  const markup = typeof given === 'string' ? given : '';
  const html = parse_mode !== undefined && String(parse_mode).toLowerCase() === 'html';
  if (parse_mode !== undefined && !html) return 'unsupported parse_mode';
  const parsed = html ? parseHtml(markup) : { text: markup, entities: [] };
  if (typeof parsed === 'string') return `can't parse entities: ${parsed}`;
  const text = parsed.text.trim();
  if (text === '') return 'message text is empty';
  if (text.length > TEXT_MAX) return 'message is too long';
  return { markup, content: { text, ...(parsed.entities.length > 0 ? { entities: parsed.entities } : {}) } };
}

/** Maximum length of the data of a button, in bytes, and of the text of an answer, in characters. */
const DATA_MAX = 64;
const ANSWER_MAX = 200;

/** The buttons of an inline keyboard, or why the platform refuses them. */
function buttonsIn(markup: unknown): Pick<Shown, 'buttons'> | string {
  if (markup === undefined) return {};
  const { inline_keyboard: rows } = (typeof markup === 'string' ? JSON.parse(markup) : markup) as {
    inline_keyboard?: { text: string; callback_data: string }[][];
  };
  const buttons = (rows ?? [])
    .flat()
    .map(({ text, callback_data }) => ({ label: text, press: callback_data }));
  if (buttons.some(({ press }) => Buffer.byteLength(press) > DATA_MAX)) return 'BUTTON_DATA_INVALID';
  return buttons.length === 0 ? {} : { buttons };
}

/** The text is shown only to the person who pressed the button. */
function answerCallbackQuery({ callback_query_id, text }: Fields): Outcome {
  if (typeof callback_query_id !== 'string' || callback_query_id === '')
    return 'query is too old and response timeout expired or query ID is invalid';
  if (typeof text !== 'string' || text === '') return { result: true };
  if (text.length > ANSWER_MAX) return 'MESSAGE_TOO_LONG';
  return { result: true, shown: [{ what: 'private', to: 'you', text }] };
}

const ABILITIES = {
  can_join_groups: true,
  can_read_all_group_messages: false,
  supports_guest_queries: false,
  supports_inline_queries: false,
  can_connect_to_business: false,
  has_main_web_app: false,
  has_topics_enabled: false,
  allows_users_to_create_topics: false,
  can_manage_bots: false,
  supports_join_request_queries: false,
};

/**
 * A private chat has the same id as its person. All other ids are negative. A string means that there is no such chat.
 */
function findChat({ chat_id }: Fields): { id: number; type: string; [member: string]: unknown } | string {
  if (chat_id === undefined || chat_id === '') return 'chat_id is empty';
  const id = Number(chat_id);
  if (!Number.isSafeInteger(id) || id === 0) return 'chat not found';
  return id > 0 ? { id, first_name: `User ${id}`, type: 'private' } : { ...GROUP, id };
}

function shown(what: Shown['what'], { chat_id, message_thread_id }: Fields, text: string): Shown {
  return {
    what,
    to: String(chat_id),
    text,
    ...(message_thread_id === undefined ? {} : { thread: String(message_thread_id) }),
  };
}

function refusal(error_code: number, description: string): SimulatedApiAnswer {
  return { status: error_code, body: { ok: false, error_code, description }, shown: [] };
}

/** The parameters in a body, which is JSON, a form or empty. Null if the JSON is not an object. */
function parsePayload(type: string | undefined, body: Uint8Array): Fields | null {
  if (body.length === 0) return {};
  const text = new TextDecoder().decode(body);
  return type?.startsWith('application/json')
    ? jsonObjectOrNull(text)
    : Object.fromEntries(new URLSearchParams(text));
}

/** Errors that concern a message, as the platform's server words them. Other errors are named after their status. */
const WORDS: Readonly<Record<number, string>> = {
  400: 'Bad Request: chat not found',
  403: 'Forbidden: bot was blocked by the user',
};
/** The wait after a 429 if the simulation does not set one, in seconds. The platform always sends a wait. */
const RETRY_AFTER = 1;

/** An error of the Bot API ("Making requests", "ResponseParameters"). The wait is in the body, not in a header. */
export function buildRefusal({ status, retry_after_seconds }: SimulatedRefusal): SimulatedRefused {
  const retry_after = retry_after_seconds ?? (status === 429 ? RETRY_AFTER : null);
  const words = WORDS[status] ?? STATUS_CODES[status] ?? 'Unknown Error';
  return {
    status,
    body: {
      ok: false,
      error_code: status,
      description: status === 429 ? `${words}: retry after ${retry_after}` : words,
      ...(retry_after === null ? {} : { parameters: { retry_after } }),
    },
  };
}

export function botId(token: string): number {
  return parseBotId(token) ?? hashToNumber(`bot ${token}`);
}

/** A 31-bit number that is always the same for the same text. */
export function hashToNumber(words: string): number {
  return (hash('sha256', words, 'buffer').readUInt32BE() >>> 1) + 1;
}
